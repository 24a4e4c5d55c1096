import type { Conversation, ExecPort } from '../../api/types/ports.ts';
import type { ExecCreateRequest, ExecInspect } from '../../api/types/exec.ts';
import { conflict, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { parseDetachKeys } from '../base/stdio/detach-keys.ts';
import { converse } from './conversation.ts';
import { execEvent, execView } from './instance.ts';
import type { ExecInstance, ExecState } from './instance.ts';
import { launchExec } from './launch.ts';
import type { ExecTarget } from './ports.ts';
import type { ExecsDeps } from './deps.ts';

/** Commands run in running containers. Instances live in memory, until a while after their container ended. */
export class Execs implements ExecPort {
  readonly #deps: ExecsDeps;
  readonly #instances = new Map<string, ExecInstance>();
  /** Ids by container, oldest first; its presence means that the container's end is watched. */
  readonly #byContainer = new Map<string, string[]>();

  constructor(deps: ExecsDeps) {
    this.#deps = deps;
  }

  async create(containerRef: string, body: ExecCreateRequest): Promise<{ Id: string }> {
    await this.#deps.targets.whenRestored(containerRef);
    const target = this.#deps.targets.execTarget(containerRef);
    this.#deps.runtime.expectExec();
    const instance: ExecInstance = {
      id: newId(),
      target,
      request: body,
      process: target.process(body),
      detachKeys: parseDetachKeys(body.DetachKeys),
      size: undefined,
      state: { status: 'created' },
    };
    this.#remember(instance);
    target.note(execEvent(instance, 'exec_create'));
    return { Id: instance.id };
  }

  async start(
    id: string,
    options: { detach: boolean; tty: boolean; consoleSize?: [number, number] },
  ): Promise<Conversation | undefined> {
    const instance = this.#find(id);
    refuseSecondRun(instance);
    instance.target.refuseUnlessRunning();
    if (options.consoleSize) {
      const [height, width] = options.consoleSize;
      instance.size = { height, width };
    }
    instance.state = { status: 'starting' };
    if (options.detach) {
      await launchExec(this.#deps, instance, { stdin: false, detached: true });
      return undefined;
    }
    return {
      tty: options.tty,
      connect: (socket) => converse(this.#deps, instance, socket, options),
      abandon: () => {
        if (instance.state.status === 'starting') {
          instance.state = { status: 'created' };
        }
      },
    };
  }

  async resize(id: string, size: { height: number; width: number }): Promise<void> {
    const instance = this.#find(id);
    switch (instance.state.status) {
      case 'created':
      case 'starting':
        // Clients send the size as soon as the connection stands; the process may come a little later.
        instance.size = size;
        return;
      case 'running':
        instance.state.process.resize(size.height, size.width);
        return;
      case 'exited':
        throw conflict(`cannot resize a stopped exec: ${id}`);
    }
  }

  async inspect(id: string): Promise<ExecInspect> {
    return execView(this.#find(id));
  }

  #find(id: string): ExecInstance {
    const instance = this.#instances.get(id);
    if (instance === undefined) {
      throw notFound(`No such exec instance: ${id}`);
    }
    return instance;
  }

  #remember(instance: ExecInstance): void {
    const { id, target } = instance;
    this.#instances.set(id, instance);
    target.execIds.add(id);
    const ids = this.#byContainer.get(target.id);
    if (ids === undefined) {
      this.#byContainer.set(target.id, [id]);
      void this.#forgetWithContainer(target).catch((error: unknown) => {
        this.#deps.log.error({ container: target.id, err: error }, 'execs of a container are not forgotten');
      });
      return;
    }
    ids.push(id);
    if (ids.length > limits.execsKeptMax) {
      this.#dropOldestAtRest(target, ids);
    }
  }

  /** One that has ended, or that was created long ago and never started. */
  #dropOldestAtRest(target: ExecTarget, ids: string[]): void {
    const oldestIn = (status: ExecState['status']): number =>
      ids.findIndex((id) => this.#instances.get(id)?.state.status === status);
    const ended = oldestIn('exited');
    const index = ended < 0 && ids.length > limits.execsWaitingMax ? oldestIn('created') : ended;
    const [oldest] = index < 0 ? [] : ids.splice(index, 1);
    if (oldest !== undefined) {
      this.#instances.delete(oldest);
      target.execIds.delete(oldest);
    }
  }

  async #forgetWithContainer(target: ExecTarget): Promise<void> {
    await target.whenEnded();
    const ids = this.#byContainer.get(target.id) ?? [];
    this.#byContainer.delete(target.id);
    ids.forEach((id) => target.execIds.delete(id));
    // As with dockerd: an exec that was never started has no result.
    ids
      .filter((id) => this.#instances.get(id)?.state.status === 'created')
      .forEach((id) => this.#instances.delete(id));
    this.#forgetWhenRemoved(target, ids).catch((error: unknown) => {
      this.#deps.log.error({ container: target.id, err: error }, 'execs of a removed container stay known');
    });
    this.#deps.clock.setTimeout(() => ids.forEach((id) => this.#instances.delete(id)), limits.execKeptMs);
  }

  /** Execs of a removed container are not found (moby daemon/exec.go: getExecConfig). */
  async #forgetWhenRemoved(target: ExecTarget, ids: readonly string[]): Promise<void> {
    await target.whenRemoved();
    ids.forEach((id) => this.#instances.delete(id));
  }
}

function refuseSecondRun({ id, state }: ExecInstance): void {
  switch (state.status) {
    case 'created':
      return;
    case 'starting':
    case 'running':
      throw conflict(`Error: Exec command ${id} is already running`);
    case 'exited':
      throw conflict(`Error: Exec command ${id} has already run`);
  }
}
