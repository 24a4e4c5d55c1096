import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

/**
 * The door to the C library: every foreign function of the engine is declared in this folder and nowhere else, because
 * a wrong declaration is a segmentation fault of the daemon.
 *
 * RULES
 * - Only synchronous calls that cannot block (no sync, no unmount, no read of a network file system) on the main
 *   thread; what may block goes through `.async` (a pool thread) or a worker.
 * - Never `setns` or `unshare` through `.async`: the pool thread would keep the namespace and lend it to the next job.
 * - Every open asks for O_CLOEXEC: nothing of the daemon's leaks into a container (runc CVE-2024-21626).
 */
const library = koffi.load('libc.so.6');

/** Made once: the map is built anew by each call, and some errors (EAGAIN) are everyday events. */
const errorWords = getSystemErrorMap();

/** A failed system call: `code` is the errno name, `syscall` what was called, the message names the object. */
export class KernelError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;

  constructor(syscall: string, errno: number, object: string) {
    const code = errnoName(errno);
    // The name to look it up, the words to read.
    const [, words = ''] = errorWords.get(-errno) ?? [];
    super(`${syscall} ${object}: ${code}${words && `: ${words}`}`);
    this.name = 'KernelError';
    this.code = code;
    this.errno = errno;
    this.syscall = syscall;
  }
}

/** Of two names for one number the one that Node.js uses: the first (EAGAIN, not EWOULDBLOCK; ENOTSUP). */
const errnoNames = new Map<number, string>(
  Object.entries(constants.errno)
    .toReversed()
    .map(([name, value]) => [value, name]),
);

/** Numbers of the errors that this engine reports itself. */
export const ERRNO = constants.errno;

export function errnoName(errno: number): string {
  return errnoNames.get(errno) ?? `errno ${errno}`;
}

type Callable = ((...args: unknown[]) => number | bigint) & {
  async: (...args: unknown[]) => void;
};

/** A C function that answers a negative number and sets errno when it fails. */
export interface CFunction {
  /** Calls it on this thread; throws KernelError that names `object`. */
  (object: string, ...args: unknown[]): number;
  /** Calls it on a pool thread, for what may block. */
  async(object: string, ...args: unknown[]): Promise<number>;
}

/** Declares a C function, for example `declare('int close(int fd)')`. Fails at import when the library lacks it. */
export function declare(prototype: string): CFunction {
  return wrap(prototype, /(\w+)\s*\(/.exec(prototype)?.[1] ?? prototype, []);
}

/** Declares a raw system call of the generic `syscall(2)`, for those that glibc 2.36 does not wrap. */
export function declareSyscall(name: string, number: number, parameters: string): CFunction {
  return wrap(`long syscall(long number, ${parameters})`, name, [number]);
}

function wrap(prototype: string, name: string, leading: readonly number[]): CFunction {
  // koffi types every function as (...any) => any; the prototype above is what really holds.
  const native = library.func(prototype) as unknown as Callable;
  const call = (object: string, ...args: unknown[]): number => {
    const result = Number(native(...leading, ...args));
    if (result < 0) {
      throw new KernelError(name, koffi.errno(), object);
    }
    return result;
  };
  const callAsync = (object: string, ...args: unknown[]): Promise<number> =>
    new Promise((resolve, reject) => {
      native.async(...leading, ...args, (error: Error | null, result: number | bigint) => {
        if (error) {
          reject(error);
        } else if (Number(result) < 0) {
          // koffi carries errno over from the pool thread, but only into this very callback.
          reject(new KernelError(name, koffi.errno(), object));
        } else {
          resolve(Number(result));
        }
      });
    });
  return Object.assign(call, { async: callAsync });
}

/** System call numbers that are the same on every architecture added since 2011 (asm-generic numbering from 424 on). */
export const SYS = {
  pidfd_send_signal: 424,
  open_tree: 428,
  move_mount: 429,
  pidfd_open: 434,
  openat2: 437,
  mount_setattr: 442,
  quotactl_fd: 443,
} as const;
