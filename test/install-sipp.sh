#!/usr/bin/env bash
# Makes sure that SIPp, which the tests over real sockets drive, is there. On a Debian machine where we are root (a
# container, CI) it is installed; elsewhere the person is told how.
set -euo pipefail

command -v sipp >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  cat >&2 <<'HOW'
The tests need SIPp, and there is no `sipp` on the PATH. Install it, then run the tests again:
  Debian, Ubuntu:  sudo apt-get install sip-tester
  macOS:           brew install sipp
HOW
  exit 1
fi
echo "sipp is missing: installing Debian's sip-tester"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends sip-tester
