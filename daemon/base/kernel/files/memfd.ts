import { closeSync, readFileSync, writeSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';

const memfdCreate = declare('int memfd_create(const char *name, unsigned int flags)');
const fcntl = declare('int fcntl(int fd, int command, int value)');

const MFD_CLOEXEC = 0x1;
const MFD_ALLOW_SEALING = 0x2;
/** Since Linux 6.3: says that the file may be executed, which `vm.memfd_noexec` asks to be said. */
const MFD_EXEC = 0x10;
const F_ADD_SEALS = 1033;
/** F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE */
const SEALED = 0xf;

/**
 * A copy of a program in memory that cannot be changed any more (memfd_create(2), seals). Returns its descriptor.
 * Throws KernelError, or a system error from reading `path`.
 */
export function sealedCopy(path: string): number {
  const content = readFileSync(path);
  const fd = create(path);
  try {
    for (let offset = 0; offset < content.length;) {
      offset += writeSync(fd, content, offset);
    }
    fcntl(path, fd, F_ADD_SEALS, SEALED);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function create(name: string): number {
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  try {
    return memfdCreate(name, name, flags | MFD_EXEC);
  } catch (error) {
    if (errnoOf(error) !== 'EINVAL') {
      throw error;
    }
    return memfdCreate(name, name, flags);
  }
}
