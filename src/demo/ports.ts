import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

export const loopback = "127.0.0.1";

/** UDP ports on loopback that nobody uses at this moment, all different. */
export async function freeUdpPorts(count: number): Promise<number[]> {
  const sockets = Array.from({ length: count }, () => createSocket("udp4").bind(0, loopback));
  await Promise.all(sockets.map((socket) => once(socket, "listening")));
  const ports = sockets.map((socket) => socket.address().port);
  await Promise.all(sockets.map((socket) => new Promise<void>((closed) => socket.close(closed))));
  return ports;
}

/** A TCP port on loopback that nobody uses at this moment. */
export async function freeTcpPort(): Promise<number> {
  const server = createServer().listen(0, loopback);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new TypeError("a TCP server has an address with a port");
  return address.port;
}
