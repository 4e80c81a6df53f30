import { createSocket } from "node:dgram";
import { once } from "node:events";

export const loopback = "127.0.0.1";

/** UDP ports on loopback that nobody uses at this moment, all different. */
export async function freeUdpPorts(count: number): Promise<number[]> {
  const sockets = Array.from({ length: count }, () => createSocket("udp4").bind(0, loopback));
  await Promise.all(sockets.map((socket) => once(socket, "listening")));
  const ports = sockets.map((socket) => socket.address().port);
  await Promise.all(sockets.map((socket) => new Promise<void>((closed) => socket.close(closed))));
  return ports;
}
