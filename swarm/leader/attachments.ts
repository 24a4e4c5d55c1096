import { isDeepStrictEqual } from 'node:util';
import { EngineError, failedPrecondition } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Cluster, ClusterCommit } from '../cluster/cluster.ts';
import type { AttachmentRecord } from '../objects/attachment.ts';
import { keyOf } from '../objects/keys.ts';
import { put, remove, type Write } from '../objects/parts.ts';
import { nameKey } from '../objects/values.ts';
import {
  attachmentOf,
  type AttachmentRefusal,
  type AttachmentWish,
} from '../planner/allocator/attachments.ts';
import type { ClusterState } from '../planner/state/cluster-state.ts';
import { isStoreError, StoreError } from '../store/errors.ts';

/** Of one transaction: each has its own condition, and at most two more for its network. */
const AT_ONCE = 30;

/** What a node has in networks, each with what the leader calls it. */
export type Granted = AttachmentRecord | AttachmentRefusal;

/** Containers of nodes in attachable networks, decided on by the leader. Everything is stored before it is answered. */
export interface AttachmentDesk {
  /** Throws unavailable where the store does not take it now, failed_precondition where this manager leads no more. */
  attach(wish: AttachmentWish, signal: AbortSignal): Promise<Granted>;
  /** Nothing there is no error. */
  detach(node: string, of: { network: string; container: string }, signal: AbortSignal): Promise<void>;
  /** The node has exactly these. Answers for each. */
  attached(node: string, wishes: readonly AttachmentWish[], signal: AbortSignal): Promise<Granted[]>;
}

interface Deps {
  cluster: Cluster;
  /** Ahead of the store. */
  state: ClusterState;
  planner: {
    attach(wish: AttachmentWish, now: number): Granted;
    observe(write: Write): void;
  };
  /** Milliseconds since 1970 UTC. */
  now: () => number;
  /**
   * Stores all or nothing, and returns when it is known which. Where it is nothing the planner is told what is true,
   * and it throws.
   */
  store(commit: Omit<ClusterCommit, 'fence'>): Promise<void>;
  /** Somebody waits for a turn. */
  due(): void;
}

/** Decides step by step; what a step yields counts for the next one, which is asked for when the store has it. */
type Steps<T> = () => Generator<readonly Write[], T, void>;

interface Turn {
  run(): Promise<void>;
  fail: (error: unknown) => void;
  signal: AbortSignal;
}

/**
 * Attachments in the leader's own turn: between two passes of the planner, one after the other, on the state in which
 * tasks get their addresses. So none is given twice.
 */
export class Attachments implements AttachmentDesk {
  readonly #deps: Deps;
  #waiting: Turn[] = [];
  #hasEnded = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  attach(wish: AttachmentWish, signal: AbortSignal): Promise<Granted> {
    const { state, planner, now } = this.#deps;
    return this.#turn(function* () {
      const [write, granted] = grant(state, planner, wish, now());
      yield write;
      return granted;
    }, signal);
  }

  detach(node: string, of: { network: string; container: string }, signal: AbortSignal): Promise<void> {
    const { state, planner } = this.#deps;
    return this.#turn(function* () {
      const known = attachmentOf(state, node, of);
      yield drop(planner, known === undefined ? [] : [known]);
    }, signal);
  }

  attached(node: string, wishes: readonly AttachmentWish[], signal: AbortSignal): Promise<Granted[]> {
    const { state, planner, now } = this.#deps;
    return this.#turn(function* () {
      const kept = new Set(wishes.map((wish) => attachmentOf(state, node, wish)));
      const dropped = [...(state.nodes.get(node)?.attachments.values() ?? [])].filter(
        (each) => !kept.has(each),
      );
      for (let from = 0; from < dropped.length; from += AT_ONCE) {
        yield drop(planner, dropped.slice(from, from + AT_ONCE));
      }
      const granted: Granted[] = [];
      for (let from = 0; from < wishes.length; from += AT_ONCE) {
        const share = wishes.slice(from, from + AT_ONCE).map((wish) => grant(state, planner, wish, now()));
        granted.push(...share.map(([, each]) => each));
        yield share.flatMap(([writes]) => writes);
      }
      return granted;
    }, signal);
  }

  /** Decides on all that wait. Never rejects. */
  async decide(): Promise<void> {
    for (let turn = this.#waiting.shift(); turn !== undefined; turn = this.#waiting.shift()) {
      if (turn.signal.aborted) {
        turn.fail(new EngineError('canceled', 'canceled'));
      } else {
        await turn.run();
      }
    }
  }

  /** The leadership is over: whoever waits has to ask another manager. */
  end(): void {
    this.#hasEnded = true;
    this.#waiting.forEach(({ fail }) => fail(over()));
    this.#waiting = [];
  }

  #turn<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) {
        reject(over());
        return;
      }
      const run = async (): Promise<void> => {
        try {
          resolve(await this.#run(steps));
        } catch (error) {
          reject(this.#hasEnded ? over() : (asUnavailable(error) ?? error));
        }
      };
      this.#waiting.push({ run, fail: reject, signal });
      this.#deps.due();
    });
  }

  /** Decided anew from the beginning where something has changed meanwhile. */
  async #run<T>(steps: Steps<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const step = steps();
        for (let next = step.next(); ; next = step.next()) {
          if (next.done === true) {
            return next.value;
          }
          if (next.value.length > 0) {
            await this.#deps.store(this.#commitOf(next.value));
          }
        }
      } catch (error) {
        if (!isStoreError(error, 'conflict') || attempt >= limits.swarmWriteAttempts) {
          throw error;
        }
      }
    }
  }

  /**
   * What is written into a network holds it: its removal depends on its name, which is written anew. So one that comes
   * to stand late does not once another was written: what it would bring back may have left.
   */
  #commitOf(writes: readonly Write[]): Omit<ClusterCommit, 'fence'> {
    const { cluster, state } = this.#deps;
    const used = writes.flatMap(({ part, value }) =>
      part === 'attachment' && value !== null ? [value.network] : [],
    );
    const networks = [...new Set(used)].flatMap((id) => state.networks.get(id) ?? []);
    return {
      parts: writes,
      conditions: [
        ...writes.map(({ part, id }) => ({ key: keyOf(part, id), revision: cluster.revisionOf(part, id) })),
        ...networks.flatMap(({ id, name }) => [
          { key: keyOf('network', id), revision: cluster.revisionOf('network', id) },
          { key: nameKey('network', name), revision: cluster.value(nameKey('network', name))?.revision ?? 0 },
        ]),
      ],
      values: networks.map(({ id, name }) => ({
        kind: 'put',
        key: nameKey('network', name),
        value: Buffer.from(id),
      })),
    };
  }
}

function grant(
  state: ClusterState,
  planner: Deps['planner'],
  wish: AttachmentWish,
  now: number,
): [Write[], Granted] {
  const before = attachmentOf(state, wish.node, wish);
  const granted = planner.attach(wish, now);
  const isNew = 'id' in granted && !isDeepStrictEqual(before, granted);
  return [isNew ? [put('attachment', granted)] : [], granted];
}

function drop(planner: Deps['planner'], records: readonly AttachmentRecord[]): Write[] {
  const writes = records.map(({ id }) => remove('attachment', id));
  writes.forEach((write) => planner.observe(write));
  return writes;
}

function over(): EngineError {
  return failedPrecondition('this manager leads the swarm no more');
}

/** What the store says is no answer to a node: it may ask again. */
function asUnavailable(error: unknown): EngineError | undefined {
  return error instanceof StoreError
    ? new EngineError('unavailable', `the swarm's store does not take it now: ${error.message}`, {
        cause: error,
      })
    : undefined;
}
