import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../../daemon/base/errors.ts';
import { Semaphore } from '../../daemon/base/concurrency/semaphore.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { SWARM_ID } from '../objects/ids.ts';
import { isTaskState } from '../objects/task-state.ts';
import type { AssignedTask } from '../protocol/session.ts';
import type { OwnStatus } from './task-step.ts';

/** A task as the node keeps it over the daemon's end: without the credentials that its image is pulled with. */
export interface StoredTask {
  assigned: Omit<AssignedTask, 'registryAuth' | 'known'>;
  status: OwnStatus;
  /** There are credentials, which only a manager can give again. */
  hasRegistryAuth: boolean;
}

const SUFFIX = '.json';

/**
 * What the node knows of its tasks, a file each: so it keeps them when its daemon starts while no manager answers.
 * Writes of one task are taken together; no file is ever half written.
 */
export class TaskFiles {
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #turns = new Semaphore(limits.swarmTaskFileWrites);
  /** What is to be written; null = the file goes. */
  readonly #waiting = new Map<string, StoredTask | null>();
  #writing: Promise<void> | undefined;

  private constructor(directory: string, logger: Logger) {
    this.#directory = directory;
    this.#logger = logger;
  }

  /** Reads all that is there. A file that is none of ours is left out, with a line in the log. */
  static async open(directory: string, logger: Logger): Promise<{ files: TaskFiles; stored: StoredTask[] }> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const stored: StoredTask[] = [];
    for (const name of await readdir(directory)) {
      const file = path.join(directory, name);
      try {
        // What a daemon that died was writing.
        if (name.endsWith(SUFFIX)) {
          stored.push(checked(JSON.parse(await readFile(file, 'utf8'))));
        } else {
          await rm(file, { recursive: true });
        }
      } catch (error) {
        logger.error({ file, error: errorText(error) }, 'a task of this node is left out');
      }
    }
    return { files: new TaskFiles(directory, logger), stored };
  }

  save(task: StoredTask): void {
    this.#put(task.assigned.id, task);
  }

  /** Resolves when it is gone, or could not be removed. */
  async remove(id: string): Promise<void> {
    this.#put(id, null);
    await this.flush();
  }

  /** Resolves when all that was handed over has been written. Never rejects. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) {
      await this.#writing;
    }
  }

  #put(id: string, task: StoredTask | null): void {
    this.#waiting.set(id, task);
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      // So that several states of one task, which follow each other at once, are one write.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const batch = [...this.#waiting];
      if (batch.length === 0) {
        return;
      }
      this.#waiting.clear();
      await Promise.all(batch.map(([id, task]) => this.#turns.run(() => this.#write(id, task))));
    }
  }

  async #write(id: string, task: StoredTask | null): Promise<void> {
    const file = path.join(this.#directory, `${id}${SUFFIX}`);
    try {
      failpoint('swarm.agent.task.file');
      await (task === null ? rm(file, { force: true }) : replace(file, JSON.stringify(task)));
    } catch (error) {
      // The task runs all the same; the manager tells of it after a restart.
      this.#logger.error(
        { task: id, error: errorText(error) },
        'what is known of a task could not be written',
      );
    }
  }
}

async function replace(file: string, text: string): Promise<void> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

function checked(value: unknown): StoredTask {
  // Each field that decides anything is looked at below.
  const task = value as Partial<StoredTask> | null;
  const { assigned, status } = task ?? {};
  const isWhole =
    assigned !== undefined &&
    status !== undefined &&
    SWARM_ID.test(assigned.id) &&
    status.id === assigned.id &&
    isTaskState(status.state) &&
    isTaskState(assigned.desired) &&
    typeof assigned.spec === 'object' &&
    typeof assigned.service === 'object';
  if (!isWhole) {
    throw new Error('it is not a task');
  }
  return { assigned, status, hasRegistryAuth: task?.hasRegistryAuth === true };
}
