import { EngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { EventDraft, Journal } from '../../events/journal-types.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { ContainerTable } from '../../../storage/database/rows.ts';
import type { Container } from './container.ts';
import { containerEvent } from './events.ts';
import type { ContainerIndex } from './container-index.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { ContainerEvent, ContainerState } from './state.ts';
import { transition } from './state.ts';
import { isLive } from './state-facts.ts';
import { encodeState } from './state-codec.ts';
import type { Waiters } from './waiters.ts';

/** What the database may refuse: nothing is published before it has it. */
type CommitType = 'start' | 'started' | 'pause' | 'commit_pause';

/** What has happened, or must happen, whether or not it can be stored. */
type FactType =
  | 'exit'
  | 'start_failed'
  | 'stop'
  | 'remove'
  | 'remove_failed'
  | 'unrun'
  | 'pause'
  | 'unpause'
  | 'commit_pause'
  | 'oom'
  | 'probed';

type EventOf<T extends ContainerEvent['type']> = Extract<ContainerEvent, { type: T }>;

export interface MachineDeps {
  journal: Journal;
  containers: ContainerTable;
  registry: ContainerIndex;
  waiters: Waiters;
  /** Told of each change, and of the end, after database and memory have it. */
  changed(container: Container): void;
}

/**
 * The only writer of containers. Each method is one synchronous step: decide, one transaction with row and events,
 * memory, waiters. `commit...`, `create`, `rename` and the like may be refused by the disk; `note...` and `forget` tell
 * of facts and are not (see `Journal`).
 *
 * INVARIANTS
 * - Nothing interleaves inside a method: there is no await in this file.
 * - Memory never runs ahead of the database, but for `starting` (never stored) and for facts that the disk refuses.
 */
export class Machine {
  readonly #deps: MachineDeps;

  constructor(deps: MachineDeps) {
    this.#deps = deps;
  }

  /**
   * The row of a new container, what belongs to it alone (`storeParts`) and its events; from here on it exists. Throws
   * conflict when the name is taken.
   */
  create(container: Container, drafts: readonly EventDraft[], storeParts: () => void): void {
    const { journal, containers, registry } = this.#deps;
    const { id, name, imageId, layerIds, createdNano, spec, state } = container;
    failpoint('containers.create.commit');
    journal.commit(
      (emit) => {
        storeParts();
        containers.insert({
          id,
          name,
          imageId,
          layerIds: [...layerIds],
          createdNano,
          spec,
          state: encodeState(state),
        });
        drafts.forEach((draft) => emit(draft));
      },
      // One of a build goes with the build, whatever happens.
      { durable: spec.ofBuild !== 'removed' },
    );
    registry.add(container);
  }

  /**
   * A change that may be refused, with the events that tell of it. Throws the refusal of `transition` as EngineError,
   * and whatever the database throws; memory is unchanged then.
   */
  commit(
    container: Container,
    event: EventOf<CommitType>,
    drafts: readonly EventDraft[] = [],
  ): ContainerState {
    const to = this.#decide(container, event);
    if (to.status !== 'starting') {
      this.#deps.journal.commit((emit) => {
        this.#deps.containers.setState(container.id, encodeState(to));
        drafts.forEach((draft) => emit(draft));
      });
    }
    this.#settle(container, to, event);
    return to;
  }

  /**
   * A fact: memory follows in any case, the database as soon as the disk takes it. Throws only the refusal of
   * `transition`. `stored` is told when the database has it, in this call or later.
   */
  note(
    container: Container,
    event: EventOf<FactType>,
    drafts: readonly EventDraft[] = [],
    options: { durable?: boolean; stored?: () => void } = {},
  ): void {
    const to = this.#decide(container, event);
    // Before the journal, which writes the row as it is by then; nothing else runs in between.
    container.state = to;
    this.#deps.journal.note(drafts, {
      key: rowKey(container),
      write: () => {
        failpoint('containers.fact.write');
        this.#deps.containers.setState(container.id, encodeState(storable(container.state)));
      },
      ...options,
    });
    this.#settle(container, to, event);
  }

  /** An event that changes nothing: attach, resize, exec_start, ... Never throws. */
  noteEvent(draft: EventDraft): void {
    this.#deps.journal.note([draft]);
  }

  /** Stores the facts that wait. Throws what the database throws while the disk refuses them. */
  settleFacts(): void {
    this.#deps.journal.settle();
  }

  rename(container: Container, name: string): void {
    const { journal, containers, registry } = this.#deps;
    const oldName = container.name;
    const renamed = { ...container, name };
    failpoint('containers.rename.commit');
    journal.commit(
      (emit) => {
        containers.setName(container.id, name);
        emit(containerEvent(renamed, 'rename', { oldName: `/${oldName}` }));
      },
      { durable: true },
    );
    registry.releaseName(oldName, container.id);
    container.name = name;
    this.#forgetViews(container);
  }

  /** Another specification of the same container, with the event that tells of it. */
  respecify(container: Container, spec: ContainerSpec, drafts: readonly EventDraft[]): void {
    const { journal, containers } = this.#deps;
    failpoint('containers.update.commit');
    journal.commit(
      (emit) => {
        containers.setSpec(container.id, spec);
        drafts.forEach((draft) => emit(draft));
      },
      { durable: true },
    );
    container.spec = spec;
    this.#forgetViews(container);
  }

  /** Other networks for a container, in its specification and, when it runs, in its sandbox; one transaction. */
  rewire(
    container: Container,
    spec: ContainerSpec,
    sandbox: Sandbox | undefined,
    drafts: readonly EventDraft[],
  ): void {
    const { journal, containers } = this.#deps;
    // One that has ended meanwhile has no sandbox any more.
    const event = sandbox !== undefined && isLive(container.state) ? rewired(sandbox) : undefined;
    const to = event === undefined ? container.state : this.#decide(container, event);
    failpoint('containers.rewire.commit');
    journal.commit(
      (emit) => {
        containers.setSpec(container.id, spec);
        if (event !== undefined) {
          containers.setState(container.id, encodeState(to));
        }
        drafts.forEach((draft) => emit(draft));
      },
      { durable: true },
    );
    container.spec = spec;
    container.state = to;
    this.#forgetViews(container);
  }

  /**
   * Its files are gone, so it is gone: a fact. `first` is done before the row is deleted, and again each time that is
   * tried; while it throws the row stays. Not durable: a power cut brings back `removing`, which the next start
   * finishes.
   */
  forget(
    container: Container,
    drafts: readonly EventDraft[],
    { first, stored }: { first?: () => void; stored?: () => void },
  ): void {
    const { journal, containers, registry, waiters } = this.#deps;
    registry.delete(container);
    journal.note(drafts, {
      key: rowKey(container),
      write: () => {
        failpoint('containers.remove.forget');
        first?.();
        containers.remove(container.id);
      },
      ...(stored && { stored }),
    });
    waiters.removed(container.id, container.state);
  }

  #decide(container: Container, event: ContainerEvent): ContainerState {
    const result = transition(container.state, event);
    if ('refused' in result) {
      throw new EngineError(result.refused, `Container ${container.id} ${result.why}`);
    }
    return result.to;
  }

  #settle(container: Container, to: ContainerState, event: ContainerEvent): void {
    container.state = to;
    this.#forgetViews(container);
    this.#deps.waiters.changed(container.id, to, event);
    this.#deps.changed(container);
  }

  #forgetViews(container: Container): void {
    delete container.views.summary;
    delete container.views.inspect;
  }
}

function rewired(sandbox: Sandbox): Extract<ContainerEvent, { type: 'rewired' }> {
  return { type: 'rewired', sandbox };
}

/** `starting` is never stored: a daemon that dies in it is to find the state before. */
function storable(state: ContainerState): ContainerState {
  return state.status === 'starting' ? state.from : state;
}

function rowKey({ id }: Container): string {
  return `container/${id}`;
}
