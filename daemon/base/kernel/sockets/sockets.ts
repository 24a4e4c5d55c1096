import { close, closeSync } from 'node:fs';
import { declare } from '../libc.ts';

/** Sockets that Node.js does not offer: netlink, and ones that are bound but never listen. */
const nativeSocket = declare('int socket(int domain, int type, int protocol)');
const nativeBind = declare('int bind(int fd, const void *address, uint32_t length)');
const nativeConnect = declare('int connect(int fd, const void *address, uint32_t length)');
const nativeGetName = declare('int getsockname(int fd, void *address, void *length)');
const nativeSetOption = declare(
  'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
);
const nativeSend = declare('long send(int fd, const void *data, unsigned long length, int flags)');
const nativeSendTo = declare(
  'long sendto(int fd, const void *data, unsigned long length, int flags, const void *address, uint32_t size)',
);
const nativeReceive = declare('long recv(int fd, void *data, unsigned long length, int flags)');

export const AF = { inet: 2, inet6: 10, netlink: 16 } as const;
export const SOCK = { stream: 1, datagram: 2, raw: 3 } as const;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;

/** Opens a socket (close on exec). `object` names its purpose in errors. */
export function openSocket(object: string, family: number, type: number, protocol: number): number {
  return nativeSocket(object, family, type | SOCK_CLOEXEC, protocol);
}

/** Binds to a C `struct sockaddr`. */
export function bindSocket(object: string, fd: number, address: Buffer): void {
  nativeBind(object, fd, address, address.length);
}

/** Fixes the address that a datagram socket sends to and receives from; never waits. */
export function connectSocket(object: string, fd: number, address: Buffer): void {
  nativeConnect(object, fd, address, address.length);
}

/** The port that the kernel chose for a socket bound to port 0 of an IPv4 address. */
export function portOfSocket(object: string, fd: number): number {
  const address = Buffer.alloc(16);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(address.length);
  nativeGetName(object, fd, address, length);
  return address.readUInt16BE(2);
}

/** Sets an option whose value is an int. */
export function setSocketOption(
  object: string,
  fd: number,
  level: number,
  name: number,
  value: number,
): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  nativeSetOption(object, fd, level, name, bytes, bytes.length);
}

/** Sends one datagram to where the socket points (for netlink: the kernel). */
export function sendDatagram(object: string, fd: number, data: Buffer): void {
  nativeSend(object, fd, data, data.length, 0);
}

/** As `sendDatagram`, but throws KernelError EAGAIN instead of waiting for room. */
export function sendDatagramNow(object: string, fd: number, data: Buffer): void {
  nativeSend(object, fd, data, data.length, MSG_DONTWAIT);
}

/** As `sendDatagramNow`, to a C `struct sockaddr`. */
export function sendDatagramTo(object: string, fd: number, data: Buffer, address: Buffer): void {
  nativeSendTo(object, fd, data, data.length, MSG_DONTWAIT, address, address.length);
}

/** As `sendDatagram`, on a pool thread: for requests over which the kernel sleeps. */
export async function sendDatagramSlowly(object: string, fd: number, data: Buffer): Promise<void> {
  await nativeSend.async(object, fd, data, data.length, 0);
}

/** Receives one datagram that is already there; never waits (EAGAIN). Returns its length. */
export function receiveDatagram(object: string, fd: number, into: Buffer): number {
  return nativeReceive(object, fd, into, into.length, MSG_DONTWAIT);
}

export function closeSocket(fd: number): void {
  closeSync(fd);
}

/** As `closeSocket`, on a pool thread: for those over which the kernel sleeps. Never rejects; it is closed anyway. */
export function closeSocketSlowly(fd: number): Promise<void> {
  return new Promise((resolve) => close(fd, () => resolve()));
}

/** `struct sockaddr_in`. `address` is the IPv4 address as a 32-bit number. */
export function ipv4SocketAddress(address: number, port: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(AF.inet, 0);
  bytes.writeUInt16BE(port, 2);
  bytes.writeUInt32BE(address, 4);
  return bytes;
}

/** `struct sockaddr_in6`. `address` is its sixteen bytes. */
export function ipv6SocketAddress(address: Buffer, port: number): Buffer {
  const bytes = Buffer.alloc(28);
  bytes.writeUInt16LE(AF.inet6, 0);
  bytes.writeUInt16BE(port, 2);
  address.copy(bytes, 8, 0, 16);
  return bytes;
}
