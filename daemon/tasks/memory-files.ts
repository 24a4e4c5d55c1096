import { chmod, chown, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConfigReference, SecretReference } from '../../api/types/swarm/container-spec.ts';
import type { TaskToRun } from '../../swarm/agent/executor.ts';
import { KeyedMutex } from '../base/concurrency/mutex.ts';
import { errnoOf, errorText, internal, invalidArgument } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import type { HiddenFile, TaskMounts } from './ports.ts';

const ALL = 'all';
/** Ids are the manager's, and names of directories here. */
const TASK_ID = /^[0-9a-z]{25}$/;

/** A file as it is to be in the container. */
interface File {
  target: string;
  uid: number;
  gid: number;
  mode: number;
  data: Buffer;
}

/**
 * Secrets and configs of tasks, in a tmpfs of ours that stays when the daemon ends: containers run on with them, and
 * nothing of them is ever on a disk. A directory for each task, gone with it; with the last one the tmpfs goes too.
 */
export class MemoryFiles {
  readonly #directory: string;
  readonly #mounts: TaskMounts;
  readonly #mutex = new KeyedMutex();

  constructor(directory: string, mounts: TaskMounts) {
    this.#directory = directory;
    this.#mounts = mounts;
  }

  /** Writes a task's files, over those that are there. Throws invalid_argument for a file that cannot be. */
  async write(task: TaskToRun): Promise<HiddenFile[]> {
    const files = filesOf(task);
    if (files.length === 0) {
      return [];
    }
    return await this.#mutex.run(ALL, async () => {
      await this.#mount();
      const directory = this.#of(task.id);
      failpoint('tasks.files.write');
      await mkdir(directory, { recursive: true, mode: 0o700 });
      return await Promise.all(files.map((file, at) => write(path.join(directory, String(at)), file)));
    });
  }

  async remove(taskId: string): Promise<void> {
    await this.#mutex.run(ALL, async () => {
      failpoint('tasks.files.remove');
      await rm(this.#of(taskId), { recursive: true, force: true });
      await this.#unmountEmpty();
    });
  }

  /** Tasks that have files. */
  async tasks(): Promise<string[]> {
    try {
      return (await readdir(this.#directory)).filter((name) => TASK_ID.test(name));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return [];
      }
      throw error;
    }
  }

  async #mount(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (!this.#isMounted()) {
      failpoint('tasks.files.mount');
      const sizeBytes = limits.taskFilesBytesMax;
      await this.#mounts.secretTmpfs(this.#directory, { source: 'tasks', sizeBytes, mode: 0o700 });
    }
  }

  async #unmountEmpty(): Promise<void> {
    if (this.#isMounted() && (await readdir(this.#directory)).length === 0) {
      await this.#mounts.unmount(this.#directory);
    }
  }

  #isMounted(): boolean {
    return this.#mounts.below(this.#directory).includes(this.#directory);
  }

  #of(taskId: string): string {
    if (!TASK_ID.test(taskId)) {
      throw invalidArgument(`no id of a task: ${JSON.stringify(taskId)}`);
    }
    return path.join(this.#directory, taskId);
  }
}

async function write(source: string, { data, uid, gid, mode, target }: File): Promise<HiddenFile> {
  try {
    // A container that was made with the old one keeps it: what a task sees never changes.
    await rm(source, { force: true });
    await writeFile(source, data, { mode: 0o600 });
    await chown(source, uid, gid);
    await chmod(source, mode);
  } catch (error) {
    throw internal(`keep ${target} in memory: ${errorText(error)}`, { cause: error });
  }
  return { source, target };
}

function filesOf({ spec, secrets, configs }: TaskToRun): File[] {
  const { Secrets, Configs } = spec.ContainerSpec ?? {};
  return [
    ...(Secrets ?? []).map((reference) =>
      fileOf(reference, 'secret', reference.SecretName, secrets.get(reference.SecretID)),
    ),
    ...(Configs ?? []).map((reference) =>
      fileOf(reference, 'config', reference.ConfigName, configs.get(reference.ConfigID)),
    ),
  ];
}

const HOMES = { secret: '/run/secrets', config: '/' };

function fileOf(
  { File: file }: SecretReference | ConfigReference,
  kind: keyof typeof HOMES,
  name: string,
  data: Buffer | undefined,
): File {
  if (data === undefined) {
    throw invalidArgument(`${kind} ${name} has not come with its task`);
  }
  const { Name = '', UID = '', GID = '', Mode = 0o444 } = file ?? {};
  return {
    target: path.posix.resolve(HOMES[kind], Name || name),
    uid: numeric(UID, `UID of ${kind} ${name}`),
    gid: numeric(GID, `GID of ${kind} ${name}`),
    // As in Go's os.FileMode: what else is in the number are no bits of chmod(2).
    mode: Mode & 0o777,
    data,
  };
}

function numeric(text: string, what: string): number {
  if (!/^\d{0,10}$/.test(text)) {
    throw invalidArgument(`${what}: ${JSON.stringify(text)} is not a number`);
  }
  return Number(text);
}
