import { join } from 'node:path';
import type { EventMessage } from '../../../api/types/system.ts';
import type { NetworkInspect, SystemInfo } from '../../../api/types/system.ts';
import type { PullOptions } from '../../../api/types/ports.ts';
import type { NetworksChange } from '../../../api/types/swarm/overlay.ts';
import type { TaskSpec } from '../../../api/types/swarm/task.ts';
import { EngineError, notFound } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { createExecutor } from '../../../daemon/tasks/executor.ts';
import type { TaskDeps } from '../../../daemon/tasks/ports.ts';
import type { Executor, TaskToRun } from '../../../swarm/agent/executor.ts';
import type { OfferedImage } from '../../../swarm/images/ports.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import { ContainerRig } from './container-rig.ts';
import { settled } from './manual-clock.ts';

export const never = new AbortController().signal;

/** A task of service `web`, slot 1. */
export function taskToRun(spec: TaskSpec, more: Partial<TaskToRun> = {}): TaskToRun {
  const id = more.id ?? 't'.padEnd(25, '0');
  return {
    id,
    desired: TaskState.running,
    service: { id: 's'.padEnd(25, '0'), name: 'web', labels: {} },
    slot: 1,
    spec: { ...spec, ContainerSpec: { Image: 'busybox', ...spec.ContainerSpec } },
    hostPorts: [],
    generic: [],
    networks: [],
    name: `web.1.${id}`,
    node: 'n'.padEnd(25, '0'),
    secrets: new Map(),
    configs: new Map(),
    ...more,
  };
}

/** Tasks over the real container domain, with fakes of the kernel and of images. */
export class TaskRig implements Disposable {
  readonly engine: ContainerRig;
  readonly executor: Executor & Disposable;
  /** Images that are here, and how each pull ends: with an error, or the image is here. */
  readonly images = new Set(['busybox']);
  readonly ids = new Map<string, string>();
  /** When those that are here were named. */
  taggedNano = 0n;
  /** What managers have, whatever they are asked for; what they were asked for, and what came of it. */
  offers: OfferedImage[] = [];
  readonly asked: string[] = [];
  readonly received: string[] = [];
  readonly pulls: { options: PullOptions; end(error?: Error): void }[] = [];
  /** What managers told of networks. */
  readonly networkChanges: NetworksChange[] = [];
  /** Why networks are not in force. */
  readonly troubles = new Map<string, string>();
  readonly #listeners = new Set<(message: EventMessage) => void>();

  private constructor(engine: ContainerRig) {
    this.engine = engine;
    this.executor = createExecutor(this.#deps());
    // A registry that knows all.
    this.#pullsEnd = true;
  }

  static async make(): Promise<TaskRig> {
    return new TaskRig(await ContainerRig.make());
  }

  /** Whether pulls end by themselves, well. */
  #pullsEnd = true;

  holdPulls(): void {
    this.#pullsEnd = false;
  }

  /** Containers of this daemon have changed. */
  async changed(): Promise<void> {
    for (const { Id } of await this.engine.containers.list({
      all: true,
      limit: 0,
      size: false,
      filters: new Map(),
    })) {
      // Only this is read of an event.
      this.#listeners.forEach((tell) => tell({ Actor: { ID: Id, Attributes: {} } } as EventMessage));
    }
    await settled();
  }

  [Symbol.dispose](): void {
    this.executor[Symbol.dispose]();
    this.engine[Symbol.dispose]();
  }

  #deps(): TaskDeps {
    const { engine } = this;
    return {
      containers: engine.containers,
      images: {
        share: (ref) =>
          this.images.has(ref)
            ? { id: this.ids.get(ref) ?? 'sha256:own', taggedNano: this.taggedNano }
            : undefined,
        receive: async (name, image, { signal }) => {
          await image.describe(signal);
          this.received.push(`${name} ${image.id}`);
          this.images.add(name);
          this.ids.set(name, image.id);
        },
        pull: (options) => this.#pull(options),
      },
      managers: {
        find: async (image) => {
          this.asked.push(image);
          return this.offers;
        },
      },
      subnets: () => ['192.168.0.7/24'],
      networks: {
        inspect: async (ref) => {
          if (!['bridge', 'host', 'none', 'lan', 'lan-id', 'far-id'].includes(ref)) {
            throw notFound(`network ${ref} not found`);
          }
          const name = ref.replace(/-id$/, '');
          const Scope = name === 'far' ? 'swarm' : 'local';
          return { Name: name, Id: `${name}-id`, Scope, Ingress: false } as NetworkInspect;
        },
      },
      overlays: {
        apply: async (change) => void this.networkChanges.push(change),
        trouble: (id) => this.troubles.get(id),
      },
      attachments: { list: () => [] },
      events: { stream: ({ signal }) => this.#events(signal) },
      system: { info: async () => ({}) as Omit<SystemInfo, 'Swarm'> },
      mounts: {
        secretTmpfs: (target, options) => engine.world.mounts.tmpfs(target, options),
        unmount: (path) => engine.world.mounts.unmount(path),
        below: (path) => engine.world.mounts.below(path),
      },
      clock: engine.clock,
      logger: silentLogger,
      filesDirectory: this.filesDirectory,
      registryAuth: (header) => ({ username: header }),
    };
  }

  get filesDirectory(): string {
    return join(this.engine.directory, 'tasks');
  }

  async *#pull(options: PullOptions): AsyncGenerator<{ status: string; id?: string }> {
    yield { status: 'Waiting for registry' };
    await new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        if (error !== undefined) {
          reject(error);
          return;
        }
        this.images.add(nameOf(options));
        resolve();
      };
      this.pulls.push({ options, end });
      options.signal.addEventListener('abort', () => end(new EngineError('canceled', 'canceled')));
      if (this.#pullsEnd) {
        end();
      }
    });
    yield { status: 'Pulling from library/busybox', id: 'latest' };
  }

  async *#events(signal: AbortSignal): AsyncGenerator<EventMessage> {
    const waiting: EventMessage[] = [];
    let wake: (() => void) | undefined;
    const tell = (message: EventMessage): void => {
      waiting.push(message);
      wake?.();
    };
    this.#listeners.add(tell);
    signal.addEventListener('abort', () => wake?.());
    while (!signal.aborted) {
      yield* waiting.splice(0);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    this.#listeners.delete(tell);
  }
}

function nameOf({ name, tag = 'latest' }: PullOptions): string {
  if (tag.startsWith('sha256:')) {
    return `${name}@${tag}`;
  }
  return tag === 'latest' ? name : `${name}:${tag}`;
}
