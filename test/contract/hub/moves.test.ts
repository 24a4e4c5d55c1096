import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalSet, type MovedRecord } from '../../../daemon/hub/records/move/local-set.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { hubProcess } from '../../support/hub/hub-process.ts';
import { movedHub, type MoveArguments } from '../../support/hub/moved-hub.ts';
import { needs } from '../../support/needs.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';

const IN = [
  'hub.move.begun',
  'hub.move.claimed',
  'hub.move.copied',
  'hub.move.copied@2',
  'hub.move.brought',
  'hub.move.whole',
  'hub.move.clear',
  'hub.move.cleared',
  'swarm.records.update@2',
  'swarm.records.updated@2',
] as const;
const OUT = ['hub.move.taken', 'hub.move.replace', 'hub.move.out'] as const;

/** Accounts, one of them with a hook and a delivery; more than one update takes. */
const RECORDS: readonly MovedRecord[] = [
  ...Array.from({ length: 150 }, (_, index) => ({
    key: `account/u${1000 + index}`,
    value: { id: index + 1 },
  })),
  { key: 'counter/account', value: { last: 150 } },
  { key: 'hook/1/1', value: { id: 1, secret: 'a word' } },
  { key: 'intent/01', value: { guid: 'g' } },
];

needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('a move that is killed', () => {
  let network: TestNetns;
  let member: TestMember;
  let name = '';
  const key = randomBytes(32).toString('hex');

  beforeAll(async () => {
    network = new TestNetns(`bt${process.pid}v`);
    member = new TestMember('one', { port: 2391, network });
    await member.start();
    await member.ready();
  });

  beforeEach(() => {
    name = randomBytes(4).toString('hex');
  });

  afterAll(async () => {
    await member[Symbol.asyncDispose]();
    network[Symbol.dispose]();
  });

  const database = (): string => path.join(member.directory, `${name}.db`);
  const move = (verb: MoveArguments[0]) => movedHub(verb, database(), member.process.socket, key, 'n1', name);
  const killed = async (verb: MoveArguments[0], failpoints: string): Promise<void> => {
    const args: MoveArguments = [verb, database(), member.process.socket, key, 'n1', name];
    expect((await hubProcess('move-and-die', args, failpoints)).signal).toBe('SIGKILL');
  };

  /** A host with records, and one delivery of hook 1. */
  function prepare(): void {
    const opened = openDatabase(database(), silentLogger);
    new LocalSet(opened).replace(RECORDS, '');
    const outcome = { status: 'OK', code: 200, hookStatus: 'active' };
    opened.hubDeliveries.insert({
      attempt: 'a.0',
      hook: 1,
      deliveredMs: Date.now(),
      code: 200,
      summary: JSON.stringify({ hook: 1, deliveredMs: Date.now(), outcome }),
      body: Buffer.alloc(9),
    });
    opened.close();
  }

  test.each(IN)('into a swarm at %s goes on: all is there once', async (point) => {
    prepare();
    const [step, nth = '1'] = point.split('@');
    await killed('in', `${step}=sigkill@${nth}`);
    const { swarm, host, delivered, shared } = await move('in');
    expect(swarm).toEqual(RECORDS);
    expect(host).toEqual([{ key: 'counter/account', value: { last: 150 } }]);
    expect([delivered, shared]).toEqual([1, 1]);
  });

  test.each(OUT)('out of a swarm at %s goes on: all is there once', async (point) => {
    prepare();
    await move('in');
    await killed('out', `${point}=sigkill`);
    const { host, delivered } = await move('out');
    expect(host).toEqual(RECORDS);
    expect(delivered).toBe(1);
  });

  test('where the daemon dies after it took the records out, and stays in the swarm, its copy goes', async () => {
    prepare();
    await move('in');
    expect((await move('out')).host).toEqual(RECORDS);
    const { swarm, host } = await move('in');
    expect(swarm).toEqual(RECORDS);
    expect(host.map(({ key: each }) => each)).toEqual(['counter/account']);
  });

  test('half of what a node brought in that is gone is removed, and the next one brings its own', async () => {
    prepare();
    await killed('in', 'hub.move.copied=sigkill');
    const others = `${database()}.2`;
    const opened = openDatabase(others, silentLogger);
    new LocalSet(opened).replace([{ key: 'account/other', value: { id: 1 } }], '');
    opened.close();
    const { swarm } = await movedHub('in', others, member.process.socket, key, 'n2', name);
    expect(swarm).toEqual([{ key: 'account/other', value: { id: 1 } }]);
    // What the first one has is as it was.
    expect((await move('look')).host).toEqual(RECORDS);
  });
});
