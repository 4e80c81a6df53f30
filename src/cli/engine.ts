import { Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "../clock.ts";
import { formatHostPort, formatListenAddress, parseHostPort, parseListenAddress } from "../config/addresses.ts";
import type { ListenAddress } from "../config/config.ts";
import { Engine } from "../engine/engine.ts";
import { TcpLinkServer } from "../engine/link/tcp-link.ts";
import { defaultTimers } from "../engine/transaction/timers.ts";
import { withoutTls } from "../engine/transport/tls-settings.ts";
import { listeningAs } from "../errors.ts";
import { createLog, flushed } from "../operations/log.ts";
import { explain } from "./configuration.ts";
import { exitCodes } from "./exit-codes.ts";
import { onShutdown } from "./shutdown-signals.ts";

interface EngineCommandOptions {
  readonly listen: readonly ListenAddress[];
  readonly tlsCertificate?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly admin: { readonly address: string; readonly port: number };
  readonly secret: string;
}

/** `weir engine`: the SIP engine alone, for applications on drachtio-srf that connect to it over TCP. The exit status. */
export async function engine({ listen, admin, secret, ...files }: EngineCommandOptions): Promise<number> {
  const { tlsCertificate: certificate = "", tlsKey: key = "", tlsCa: ca = "" } = files;
  const log = createLog({ level: "info", format: "json" });
  const running = new Engine({
    listen,
    timers: defaultTimers,
    clock: systemClock,
    log,
    tls: { ...withoutTls, certificate, key, ca },
  });
  const links = new TcpLinkServer(running, { host: admin.address, port: admin.port, secret, log });
  const ended = new Promise<void>((resolve) => {
    onShutdown({
      first(reason) {
        log.info({ reason }, "asked to end");
        resolve();
      },
      again: () => process.exit(1),
    });
  });
  try {
    await listeningAs("--listen", running.start());
    await listeningAs("--admin", links.start());
  } catch (error) {
    console.error(explain(error));
    await running.stop();
    return exitCodes.system;
  }
  log.info(
    { sip: running.listening.map(formatListenAddress), applications: formatHostPort({ ...admin, port: links.port }) },
    "engine up",
  );
  await ended;
  await links.stop();
  await running.stop();
  log.info("stopped");
  await flushed(log);
  return 0;
}

/** Every `--listen` adds one; the default stands only where there is none. */
function addListen(text: string, before: readonly ListenAddress[] | undefined): readonly ListenAddress[] {
  const address = parseListenAddress(text);
  if (!address)
    throw new InvalidArgumentError("Expected udp://ADDRESS:PORT, tcp://ADDRESS:PORT or tls://ADDRESS:PORT.");
  return [...(before ?? []), address];
}

function readAdmin(text: string) {
  const address = parseHostPort(text);
  if (!address) throw new InvalidArgumentError("Expected ADDRESS:PORT.");
  return address;
}

const defaultListen: readonly ListenAddress[] = [
  { protocol: "udp", address: "127.0.0.1", port: 5_060 },
  { protocol: "tcp", address: "127.0.0.1", port: 5_060 },
];

/** As drachtio-server has it. */
const defaultAdmin = { address: "127.0.0.1", port: 9_022 };

export const engineCommand = new Command("engine")
  .description("run the SIP engine alone, for applications on drachtio-srf (srf.connect)")
  .option(
    "-l, --listen <address>",
    "where SIP is spoken; may be repeated (default: UDP and TCP 127.0.0.1:5060)",
    addListen,
  )
  .addOption(
    new Option("-a, --admin <address>", "where applications connect")
      .argParser(readAdmin)
      .default(defaultAdmin, formatHostPort(defaultAdmin)),
  )
  .option("-s, --secret <secret>", "what applications must know", "cymru")
  .option("--tls-certificate <file>", "for tls:// addresses: the certificate (PEM)")
  .option("--tls-key <file>", "its private key")
  .option("--tls-ca <file>", "authorities that are believed (default: those that Node.js brings)")
  .action(
    async ({
      listen = defaultListen,
      ...options
    }: Partial<EngineCommandOptions> & Omit<EngineCommandOptions, "listen">) => {
      process.exit(await engine({ listen, ...options }));
    },
  );
