import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, isIPv6 } from "node:net";

/** A network of loopback addresses that (all but surely) no other test of this run uses: Linux answers on all of 127.0.0.0/8. */
export class Loopback {
  readonly #prefix = `127.${randomInt(1, 255)}.${randomInt(0, 255)}`;

  /** The address with this last byte, 1 to 254. */
  address(host: number): string {
    return `${this.#prefix}.${host}`;
  }
}

/** `127.0.0.1:5060`, `[::1]:5060`. */
export const hostPort = ({ address, port }: Endpoint): string =>
  `${isIPv6(address) ? `[${address}]` : address}:${port}`;

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** A port above the ephemeral ones' lower end that is free for UDP and TCP on this address at this moment. */
export async function freePort(address: string): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const udp = createSocket(isIPv6(address) ? "udp6" : "udp4");
    udp.bind(0, address);
    await once(udp, "listening");
    const { port } = udp.address();
    const tcp = createServer();
    tcp.listen(port, address);
    const free = await new Promise<boolean>((resolve) => {
      tcp.once("listening", () => resolve(true));
      tcp.once("error", () => resolve(false));
    });
    await Promise.all([
      new Promise<void>((closed) => udp.close(() => closed())),
      new Promise<void>((closed) => (free ? tcp.close(() => closed()) : closed())),
    ]);
    if (free) return port;
  }
  throw new Error(`no port is free for UDP and TCP on ${address}`);
}
