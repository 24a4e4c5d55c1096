import { declare } from '../libc.ts';

/** Variadic in C; the third argument of this request is a pointer to an int. */
const ioctl = declare('int ioctl(int fd, unsigned long request, void *value)');
/** asm-generic/ioctls.h */
const FIONREAD = 0x541bn;

const TIOCOUTQ = 0x5411n;

/** Bytes written to a stream socket that the other side's kernel has not taken. */
export function unsentBytes(fd: number): number {
  const value = Buffer.alloc(4);
  ioctl(`descriptor ${fd}`, fd, TIOCOUTQ, value);
  return value.readInt32LE(0);
}

/** Bytes that can be read from a pipe or socket at once. */
export function unreadBytes(fd: number): number {
  const value = Buffer.alloc(4);
  ioctl(`descriptor ${fd}`, fd, FIONREAD, value);
  return value.readInt32LE(0);
}
