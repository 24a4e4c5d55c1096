import { EngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import type { EventDraft, Journal } from '../events/journal-types.ts';
import type { ContainerTable } from '../../storage/database/rows.ts';
import type { Container } from './container.ts';
import { containerEvent } from './events.ts';
import type { Sandbox } from './ports.ts';
import type { Registry } from './registry.ts';
import type { ContainerSpec } from './spec/container-spec.ts';
import type { ContainerEvent, ContainerState } from './state.ts';
import { transition } from './state.ts';
import { isLive } from './state-facts.ts';
import { encodeState } from './state-codec.ts';
import type { Waiters } from './waiters.ts';

/** Events that have happened whether or not they can be stored. */
type FactType =
  | 'exit'
  | 'start_failed'
  | 'remove_failed'
  | 'pause'
  | 'unpause'
  | 'commit_pause'
  | 'oom'
  | 'probed';

export interface MachineDeps {
  journal: Journal;
  containers: ContainerTable;
  registry: Registry;
  waiters: Waiters;
  /** Told of each change, and of the end, after database and memory have it. */
  changed(container: Container): void;
}

/**
 * The only writer of containers. Each method is one synchronous step: decide, one transaction with row and events,
 * memory, waiters. Events are published by the journal after its commit.
 *
 * INVARIANTS
 * - Nothing interleaves inside a method: there is no await in this file.
 * - Memory never runs ahead of the database, but for `starting` (never stored) and for facts that the disk refused.
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
      { durable: true },
    );
    registry.add(container);
  }

  /**
   * Applies what happened, with the events that tell of it. Throws the refusal of `transition` as EngineError, and
   * whatever the database throws; memory is unchanged then.
   */
  apply(
    container: Container,
    event: ContainerEvent,
    drafts: readonly EventDraft[] = [],
    options: { durable: boolean } = { durable: false },
  ): ContainerState {
    const to = this.#decide(container, event);
    if (to.status !== 'starting') {
      this.#commit(container, to, drafts, options);
    }
    this.#settle(container, to, event);
    return to;
  }

  /**
   * As `apply`, for what has happened whether or not the disk takes it (an exit, a failed start): memory follows in any
   * case. Returns the error of a refused commit; the next start of the daemon, or the next commit, brings the row up to
   * date.
   */
  applyFact(
    container: Container,
    event: Extract<ContainerEvent, { type: FactType }>,
    drafts: readonly EventDraft[] = [],
  ): { failure: unknown } | undefined {
    const to = this.#decide(container, event);
    let failed: { failure: unknown } | undefined;
    try {
      failpoint('containers.fact.commit');
      this.#commit(container, to, drafts, { durable: false });
    } catch (failure) {
      failed = { failure };
    }
    this.#settle(container, to, event);
    return failed;
  }

  /** Another attempt at what `applyFact` could not store: the state as it is by now, and the events it told of. */
  storeAgain(container: Container, drafts: readonly EventDraft[]): void {
    this.#commit(container, container.state, drafts, { durable: false });
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

  /** Deletes the row. Not durable by itself: a power cut brings back `removing`, which the next start finishes. */
  forget(container: Container, drafts: readonly EventDraft[]): void {
    const { journal, containers, registry, waiters } = this.#deps;
    failpoint('containers.remove.forget');
    journal.commit(
      (emit) => {
        containers.remove(container.id);
        drafts.forEach((draft) => emit(draft));
      },
      { durable: false },
    );
    registry.delete(container);
    waiters.removed(container.id, container.state);
  }

  /** An event that changes nothing: attach, resize, exec_start, ... */
  record(draft: EventDraft): void {
    this.#deps.journal.commit((emit) => emit(draft), { durable: false });
  }

  #decide(container: Container, event: ContainerEvent): ContainerState {
    const result = transition(container.state, event);
    if ('refused' in result) {
      throw new EngineError(result.refused, `Container ${container.id} ${result.why}`);
    }
    return result.to;
  }

  #commit(
    container: Container,
    to: ContainerState,
    drafts: readonly EventDraft[],
    options: { durable: boolean },
  ): void {
    this.#deps.journal.commit((emit) => {
      this.#deps.containers.setState(container.id, encodeState(to));
      drafts.forEach((draft) => emit(draft));
    }, options);
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
