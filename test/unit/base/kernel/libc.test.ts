import { expect, test } from 'vitest';
import { declare, declareSyscall, errnoName, SYS } from '../../../../daemon/base/kernel/libc.ts';

const close = declare('int close(int fd)');
const access = declare('int access(const char *path, int mode)');

test('declare throws the errno, the call and the object', () => {
  expect(() => close('a file', -1)).toThrow(
    expect.objectContaining({
      code: 'EBADF',
      syscall: 'close',
      message: 'close a file: EBADF: bad file descriptor',
    }),
  );
});

test('declareSyscall names the system call even when the object holds blanks', () => {
  const open = declareSyscall('pidfd_open', SYS.pidfd_open, 'int pid, unsigned int flags');
  expect(() => open('no such process', 0x7ffffffe, 0)).toThrow(
    expect.objectContaining({ code: 'ESRCH', message: 'pidfd_open no such process: ESRCH: no such process' }),
  );
});

test('async calls reject with their own errno while others fail beside them', async () => {
  const calls = Array.from({ length: 100 }, async (_unused, index) => {
    const call = index % 2 === 0 ? close.async('it', -1) : access.async('it', '/nowhere/at/all', 0);
    const code = await call.then(
      () => 'resolved',
      (error: unknown) => String(error),
    );
    // A failing call on this thread in between must not leak its errno into the others.
    expect(() => access('dir', '/etc/passwd/x', 0)).toThrow('ENOTDIR');
    return code;
  });
  expect(new Set((await Promise.all(calls)).filter((_code, index) => index % 2 === 0))).toEqual(
    new Set(['KernelError: close it: EBADF: bad file descriptor']),
  );
  expect(new Set((await Promise.all(calls)).filter((_code, index) => index % 2 === 1))).toEqual(
    new Set(['KernelError: access it: ENOENT: no such file or directory']),
  );
});

test('errnoName gives the names that Node.js gives', () => {
  expect([2, 11, 35, 95].map(errnoName)).toEqual(['ENOENT', 'EAGAIN', 'EDEADLK', 'ENOTSUP']);
});
