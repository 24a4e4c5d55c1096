import { describe, expect, test } from 'vitest';
import type { ServiceSpec, UpdateConfig } from '../../../../../api/types/swarm/service.ts';
import { put } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { observedState } from '../../../../../swarm/planner/state/observed.ts';
import { nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster, wellBehaved } from '../../../../support/swarm/planned-cluster.ts';

const SECOND = 1e9;
const nodes = ['n1', 'n2', 'n3'].flatMap((id) => nodeWrites(id));

/**
 * A service of four replicas that changes by an update, or goes back by hand, with this configuration; the other one of
 * the two is different in each field, so that it shows where it is the one that counts.
 */
class Change {
  readonly cluster: PlannedCluster;
  /** How many tasks of one slot were seen running at the same time. */
  readonly seen = new Set<number>();
  failures = 0;

  constructor(kind: Kind, config: UpdateConfig) {
    const [is, was] = kind === 'update' ? [2, 1] : [1, 2];
    const spec = (image: number): ServiceSpec => ({
      TaskTemplate: { ContainerSpec: { Image: `i:${image}` } },
      Mode: { Replicated: { Replicas: 4 } },
      ...(kind === 'update'
        ? { UpdateConfig: config, RollbackConfig: OTHER }
        : { UpdateConfig: OTHER, RollbackConfig: config }),
    });
    this.cluster = new PlannedCluster(
      nodes,
      serviceWrites('s', spec(was), { template: was, templatesIssued: 2 }),
    );
    this.cluster.settle();
    this.cluster.behaviour = (task) => {
      const wished = wellBehaved(task);
      [1, 2, 3, 4].forEach((slot) => this.seen.add(this.runningIn(slot)));
      if (wished !== TaskState.running || task.record.template !== is || this.failures === 0) {
        return wished;
      }
      this.failures -= 1;
      return TaskState.failed;
    };
    this.begin = () => {
      this.seen.clear();
      const rollback = kind === 'update' ? {} : { rollback: { message: 'manually requested rollback' } };
      this.cluster.change(
        ...serviceWrites('s', spec(is), { template: is, templatesIssued: 2, ...rollback }),
        put('previousService', { id: 's', spec: spec(was), template: was }),
      );
      this.cluster.settle();
    };
    this.is = is;
  }

  readonly begin: () => void;
  readonly is: number;

  private runningIn(slot: number): number {
    const tasks = this.cluster.tasks('s').filter(({ record }) => record.slot === slot);
    return tasks.filter((task) => observedState(task) === TaskState.running).length;
  }

  /** Tasks that run as wanted. */
  get done(): number {
    const tasks = this.cluster.tasks('s').filter((task) => observedState(task) === TaskState.running);
    return tasks.filter(({ record }) => record.template === this.is).length;
  }

  get state(): string {
    return this.cluster.state.services.get('s')?.run?.update?.state ?? '';
  }

  /** After so many seconds. */
  after(seconds: number): this {
    this.cluster.advance(seconds * 1_000);
    return this;
  }
}

type Kind = 'update' | 'rollback';

const OTHER: UpdateConfig = {
  Parallelism: 3,
  Delay: 33 * SECOND,
  Monitor: 44 * SECOND,
  MaxFailureRatio: 0.9,
  FailureAction: 'pause',
  Order: 'start-first',
};

function begun(kind: Kind, config: UpdateConfig, failures = 0): Change {
  const change = new Change(kind, config);
  change.failures = failures;
  change.begin();
  return change;
}

const ended = (kind: Kind): string => (kind === 'update' ? 'completed' : 'rollback_completed');
const goes = (kind: Kind): string => (kind === 'update' ? 'updating' : 'rollback_started');
const paused = (kind: Kind): string => (kind === 'update' ? 'paused' : 'rollback_paused');

describe.each<Kind>(['update', 'rollback'])('each field of the configuration of an %s', (kind) => {
  test('Parallelism: so many slots at a time, 0 for all', () => {
    const Delay = 10 * SECOND;
    const two = begun(kind, { Parallelism: 2, Delay });
    expect([two.done, two.after(10).done]).toEqual([2, 4]);
    expect(begun(kind, { Parallelism: 0, Delay }).done).toBe(4);
  });

  test('Delay: so long between two', () => {
    const change = begun(kind, { Parallelism: 1, Delay: 10 * SECOND });
    expect([change.done, change.after(9).done, change.after(1).done]).toEqual([1, 1, 2]);
  });

  test('Monitor: so long a task is watched, and the whole after its last slot', () => {
    const change = begun(kind, { Parallelism: 0, Monitor: 20 * SECOND });
    expect([change.after(19).state, change.after(1).state]).toEqual([goes(kind), ended(kind)]);
  });

  test('MaxFailureRatio: so many of the slots may fail', () => {
    const one = { Parallelism: 1, MaxFailureRatio: 0.25 };
    expect(begun(kind, one, 1).after(60).state).toBe(ended(kind));
    expect(begun(kind, one, 2).after(60).state).toBe(paused(kind));
  });

  test('FailureAction: pause ends it there, continue goes on whatever fails', () => {
    const stopped = begun(kind, { Parallelism: 1, FailureAction: 'pause' }, 1).after(60);
    expect([stopped.state, stopped.done]).toEqual([paused(kind), 1]);
    const going = begun(kind, { Parallelism: 1, FailureAction: 'continue' }, 3).after(120);
    expect([going.state, going.done]).toEqual([ended(kind), 4]);
  });

  test.each([
    ['stop-first', [0, 1]],
    ['start-first', [1, 2]],
  ] as const)('Order: %s', (Order, counts) => {
    const change = begun(kind, { Parallelism: 1, Order }).after(60);
    expect([...change.seen].toSorted((a, b) => a - b)).toEqual(counts);
  });
});

test('FailureAction rollback: an update goes back, a rollback pauses, as there is nothing to go back to', () => {
  const update = begun('update', { Parallelism: 1, FailureAction: 'rollback' }, 1).after(120);
  expect([update.state, update.done]).toEqual(['rollback_completed', 0]);
  const rollback = begun('rollback', { Parallelism: 1, FailureAction: 'rollback' }, 1).after(120);
  expect([rollback.state, rollback.done]).toEqual(['rollback_paused', 1]);
});
