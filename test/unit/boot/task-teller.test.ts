import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { TaskTeller, taskHappening } from '../../../daemon/boot/cluster/telling/task-teller.ts';
import type { Happening } from '../../../daemon/cluster/events/emit/happening.ts';
import type { TaskNews } from '../../../swarm/control/events/task-news.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

function news(more: Partial<TaskNews> = {}): TaskNews {
  return {
    id: 't1',
    name: 'web.1.t1',
    service: 's1',
    stack: undefined,
    stage: 'running',
    node: { id: 'n1', name: 'host-1' },
    error: undefined,
    exitCode: undefined,
    at: 5,
    isLeader: true,
    ...more,
  };
}

test.each<[Partial<TaskNews>, object]>([
  [{ stage: 'scheduled' }, { reason: 'Scheduled', note: 'task web.1.t1 goes to host-1', part: 'scheduler' }],
  [
    { stage: 'not-scheduled', node: undefined, error: 'no suitable node' },
    {
      reason: 'FailedScheduling',
      type: 'Warning',
      note: 'task web.1.t1 waits for a node: no suitable node',
      related: { kind: 'Service', uid: 's1' },
    },
  ],
  [{}, { reason: 'Started', type: 'Normal', related: { kind: 'Node', name: 'host-1', uid: 'n1' } }],
  [{ stage: 'complete' }, { reason: 'Completed', part: 'dispatcher' }],
  [{ stage: 'stopped' }, { reason: 'Killing' }],
  [
    { stage: 'failed', exitCode: 3, error: 'task: non-zero exit (3)' },
    { reason: 'Failed', note: 'task web.1.t1 has failed on host-1 (exit code 3): task: non-zero exit (3)' },
  ],
  [
    { stage: 'rejected', error: 'No such image: x' },
    { reason: 'Rejected', type: 'Warning' },
  ],
  [{ stage: 'orphaned' }, { reason: 'Orphaned', note: 'task web.1.t1 is lost with host-1' }],
  [{ stack: 'Shop' }, { namespace: 'shop' }],
])('a task %o is told as %o', (more, expected) => {
  expect(taskHappening(news(more))).toMatchObject(expected);
});

test('a task: all managers name what it has come to alike, and each thing otherwise', () => {
  const names = (['running', 'failed', 'scheduled'] as const).map(
    (stage) => taskHappening(news({ stage })).once,
  );
  expect(new Set(names).size).toBe(3);
  expect(taskHappening(news({ at: 9, isLeader: false })).once).toBe(names[0]);
  const [one, other] = ['a', 'b'].map((error) => taskHappening(news({ stage: 'not-scheduled', error })).once);
  expect(one).not.toBe(other);
});

function tellAll(count: number, more: (index: number) => Partial<TaskNews>) {
  const clock = new ManualClock();
  const told: Happening[] = [];
  const emitter = {
    isBusy: false,
    tell: (happening: Happening) => {
      told.push(happening);
    },
  };
  const teller = new TaskTeller({ clock, log: silentLogger });
  for (let index = 0; index < count; index += 1) {
    teller.tell(news({ id: `t${index}`, ...more(index) }));
  }
  teller.open(emitter);
  return { clock, told, emitter, teller };
}

test('tasks: what came before there was anybody to tell is told, when the way is free', async () => {
  const { clock, told, emitter } = tellAll(3, () => ({}));
  emitter.isBusy = true;
  await clock.advance(limits.clusterTellWaitMs);
  expect(told).toHaveLength(0);
  emitter.isBusy = false;
  await clock.advance(limits.clusterTellWaitMs);
  expect(told.map(({ regarding }) => regarding.uid)).toEqual(['t0', 't1', 't2']);
});

test('tasks: managers that do not lead tell later', async () => {
  const { clock, told } = tellAll(1, () => ({ isLeader: false }));
  await clock.advance(limits.clusterTaskDelayMs - limits.clusterTellWaitMs);
  expect(told).toHaveLength(0);
  await clock.advance(limits.clusterTellWaitMs * 2);
  expect(told).toHaveLength(1);
});

test('tasks: of very many some are left out, and of what fails none for what does not', async () => {
  const { clock, told } = tellAll(limits.clusterTasksBurst + 100, (index) =>
    index >= limits.clusterTasksBurst + 90 ? { stage: 'failed' } : {},
  );
  await clock.advance(limits.clusterTellWaitMs);
  expect(told).toHaveLength(limits.clusterTasksBurst + 10);
  expect(told.filter(({ reason }) => reason === 'Failed')).toHaveLength(10);
});
