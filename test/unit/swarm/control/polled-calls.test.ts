import { afterAll, beforeAll, expect, test } from 'vitest';
import { put, type Write } from '../../../../swarm/objects/parts.ts';
import { nameKey } from '../../../../swarm/objects/values.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { nodeWrites, serviceWrites, taskRecord, taskStatus } from '../../../support/swarm/builders.ts';

const NODES = 50;
const SERVICES = 100;
const TASKS_EACH = 50;
const RUNS = 200;

/** The docker CLI asks these five times a second while it waits for a service. */
let rig: ControlRig;

beforeAll(async () => {
  rig = await controlRig();
  const { cluster } = rig.context;
  const parts: Write[] = [];
  for (let node = 0; node < NODES; node += 1) {
    parts.push(...nodeWrites(`n${node}`, { Labels: { zone: 'a' } }, { Hostname: `host${node}` }));
  }
  for (let service = 0; service < SERVICES; service += 1) {
    parts.push(...serviceWrites(`s${service}`));
    for (let slot = 1; slot <= TASKS_EACH; slot += 1) {
      const id = `t${service}x${slot}`;
      parts.push(put('task', taskRecord(id, `s${service}`, { slot, node: `n${slot % NODES}` })));
      parts.push(put('status', taskStatus(id, TaskState.running, 1)));
    }
  }
  for (let at = 0; at < parts.length; at += 100) {
    await cluster.commit({ conditions: [], parts: parts.slice(at, at + 100) });
  }
  await cluster.commit({
    conditions: [],
    values: [{ kind: 'put', key: nameKey('service', 'web'), value: Buffer.from('s7') }],
  });
});

afterAll(() => rig[Symbol.asyncDispose]());

const CALLS: Record<string, (rig: ControlRig) => Promise<unknown>> = {
  'service inspect': ({ control }) => control.services.inspect('web', { insertDefaults: false }),
  'tasks of a service that are up to date': ({ control }) =>
    control.tasks.list(
      new Map([
        ['service', ['s7']],
        ['_up-to-date', ['true']],
      ]),
    ),
  nodes: ({ control }) => control.nodes.list(new Map()),
};

test.each(Object.keys(CALLS))('%s: well below a millisecond, whatever else the swarm has', async (name) => {
  const call = CALLS[name] ?? (() => Promise.resolve());
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const tookMs = processorTime();
    await call(rig);
    times.push(tookMs());
  }
  // The quickest: a busy machine slows the others down.
  expect(Math.min(...times)).toBeLessThan(1);
});
