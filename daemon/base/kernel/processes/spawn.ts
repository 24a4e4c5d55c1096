import { closeSync, constants as flags, openSync } from 'node:fs';
import { constants } from 'node:os';
import { declare, KernelError } from '../libc.ts';

/**
 * Starts helper programs without stopping the event loop. Node.js forks on the main thread, copying the page tables of
 * a 100 MB process and waiting for the child to execute: 3 ms, and 10 on a busy machine, for each. posix_spawn(3) on a
 * pool thread shares memory until the child executes and stops only that thread.
 */
const posixSpawn = declare(
  'int posix_spawn(_Out_ int *pid, const char *path, void *actions, void *attributes, ' +
    'const char **argv, const char **envp)',
);
const actionsInit = declare('int posix_spawn_file_actions_init(void *actions)');
const actionsDestroy = declare('int posix_spawn_file_actions_destroy(void *actions)');
const actionsDup2 = declare('int posix_spawn_file_actions_adddup2(void *actions, int fd, int target)');
const actionsChdir = declare('int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)');
/** glibc 2.34. What the daemon was itself started with need not be close-on-exec. */
const actionsCloseFrom = declare('int posix_spawn_file_actions_addclosefrom_np(void *actions, int from)');
const attributesInit = declare('int posix_spawnattr_init(void *attributes)');
const attributesDestroy = declare('int posix_spawnattr_destroy(void *attributes)');
const attributesSetFlags = declare('int posix_spawnattr_setflags(void *attributes, short flags)');
const attributesSetMask = declare('int posix_spawnattr_setsigmask(void *attributes, void *mask)');
const attributesSetDefault = declare('int posix_spawnattr_setsigdefault(void *attributes, void *mask)');
const pipe2 = declare('int pipe2(void *ends, int flags)');

/** sizeof(posix_spawn_file_actions_t) is 80 and sizeof(posix_spawnattr_t) 336 in glibc on every 64-bit machine. */
const ACTIONS_BYTES = 80;
const ATTRIBUTES_BYTES = 336;
const SIGSET_BYTES = 128;
/** spawn.h: default signals, an empty signal mask, a session of its own. */
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;
const O_CLOEXEC = 0o2000000;
const SIGXFSZ = constants.signals.SIGXFSZ;

export interface SpawnRequest {
  /** Absolute path of the program. */
  path: string;
  /** With the program's name first. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** The child, and what it starts, outlives its limit of file sizes: SIGXFSZ stays ignored, as Node.js has it. */
  ignoresFileSizeSignal?: boolean;
  /** Descriptors of ours that become 0, 1, 2, ... of the child; null = /dev/null. It gets no others. */
  stdio: readonly (number | null)[];
}

export interface Pipe {
  read: number;
  write: number;
}

/** A pipe; both ends are close-on-exec. */
export function makePipe(): Pipe {
  const ends = Buffer.alloc(8);
  pipe2('pipe', ends, O_CLOEXEC);
  return { read: ends.readInt32LE(0), write: ends.readInt32LE(4) };
}

/** As many pipes as are asked for, or none: those that were made are closed when descriptors run out (EMFILE). */
export function makePipes(count: number): Pipe[] {
  const pipes: Pipe[] = [];
  try {
    while (pipes.length < count) {
      pipes.push(makePipe());
    }
    return pipes;
  } catch (error) {
    pipes.forEach(closePipe);
    throw error;
  }
}

function closePipe({ read, write }: Pipe): void {
  closeSync(read);
  closeSync(write);
}

/**
 * Starts a program in a session of its own, with default signals. Resolves with its pid; the caller reaps it
 * (`children.ts`). Throws KernelError that names the program (ENOENT, EACCES, ENOMEM, ...).
 */
export async function spawnSession(request: SpawnRequest): Promise<number> {
  const { path, argv, env, cwd, stdio } = request;
  const actions = Buffer.alloc(ACTIONS_BYTES);
  const attributes = Buffer.alloc(ATTRIBUTES_BYTES);
  const nothing = openSync('/dev/null', flags.O_RDWR);
  actionsInit(path, actions);
  attributesInit(path, attributes);
  try {
    prepareAttributes(attributes, request);
    actionsChdir(cwd, actions, cwd);
    placeDescriptors(
      path,
      actions,
      stdio.map((fd) => fd ?? nothing),
    );
    const pid = [0];
    const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const error = await posixSpawn.async(
      path,
      pid,
      path,
      actions,
      attributes,
      [...argv, null],
      [...environment, null],
    );
    if (error !== 0) {
      throw new KernelError('posix_spawn', error, path);
    }
    return pid[0] ?? -1;
  } finally {
    actionsDestroy(path, actions);
    attributesDestroy(path, attributes);
    closeSync(nothing);
  }
}

function prepareAttributes(attributes: Buffer, { path, ignoresFileSizeSignal }: SpawnRequest): void {
  attributesSetFlags(path, attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  attributesSetMask(path, attributes, Buffer.alloc(SIGSET_BYTES));
  const defaults = Buffer.alloc(SIGSET_BYTES, 0xff);
  if (ignoresFileSizeSignal === true) {
    defaults.writeUInt32LE((0xffffffff & ~(1 << (SIGXFSZ - 1))) >>> 0, 0);
  }
  attributesSetDefault(path, attributes, defaults);
}

/** The daemon holds 0, 1 and 2 open and its pipes are above the few targets: none is overwritten before it is used. */
function placeDescriptors(path: string, actions: Buffer, descriptors: readonly number[]): void {
  for (const [target, fd] of descriptors.entries()) {
    if (fd < descriptors.length && fd !== target) {
      throw new KernelError('posix_spawn', 22, `${path}: descriptor ${fd} is also a target`);
    }
    actionsDup2(path, actions, fd, target);
  }
  actionsCloseFrom(path, actions, descriptors.length);
}
