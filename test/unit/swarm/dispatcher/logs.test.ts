import { describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { put, remove, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { LogsItem, LogsRequest } from '../../../../swarm/protocol/logs.ts';
import type { LogLine, LogSubscription } from '../../../../swarm/protocol/session.ts';
import { nodeWrites, serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';
import {
  clientOf,
  dispatching,
  leadingDispatcher,
  opened,
  type DispatchedNode,
  type Dispatching,
} from '../../../support/swarm/dispatched-node.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

const NONE: ServiceSpec = { Mode: { Replicated: { Replicas: 0 } } };
const WHOLE: LogsRequest = { services: ['s'], tasks: [], follow: false, stdout: true, stderr: true };
const INCOMPLETE =
  'warning: incomplete log stream. some logs could not be retrieved for the following reasons: ';

const task = (id: string, slot: number, node?: string): Write =>
  put(
    'task',
    taskRecord(id, 's', { slot, desired: TaskState.shutdown, ...(node === undefined ? {} : { node }) }),
  );

const line = (of: string, at: number, text = `line ${at}`): LogLine => ({
  task: of,
  stream: 'stdout',
  at: String(at),
  line: Buffer.from(text).toString('base64'),
});

/** As a client reads: what came, and whether it is over. */
class Client {
  readonly items: LogsItem[] = [];
  readonly gone = new AbortController();
  isOver = false;
  error: string | undefined;

  async read(dispatcher: Dispatching['dispatcher'], request: LogsRequest): Promise<this> {
    void this.#read(dispatcher.logs(request, this.gone.signal));
    await settled();
    return this;
  }

  async #read(items: AsyncIterable<LogsItem>): Promise<void> {
    try {
      for await (const item of items) {
        this.items.push(item);
      }
    } catch (error) {
      this.error = String(error);
    }
    this.isOver = true;
  }

  get lines(): string[] {
    return this.items.flatMap((item) =>
      item.kind === 'line'
        ? [
            `${item.node} ${item.service} ${item.line.task} ${Buffer.from(item.line.line, 'base64').toString()}`,
          ]
        : [item.text],
    );
  }
}

const asked = (node: DispatchedNode): LogSubscription[] =>
  node.told.flatMap((message) => (message.kind === 'logs' ? [message.subscription] : []));

const endedLogs = (node: DispatchedNode): string[] =>
  node.told.flatMap((message) => (message.kind === 'endLogs' ? [message.id] : []));

/** The node sends these for its last subscription. */
async function send(node: DispatchedNode, values: unknown[], cutAfter = false): Promise<string | undefined> {
  async function* upload(): AsyncGenerator {
    yield { session: node.session, subscription: asked(node).at(-1)?.id };
    yield* values;
    if (cutAfter) {
      throw new Error('the connection is lost');
    }
  }
  const error = await node.upload('logs.publish', upload()).then(
    () => undefined,
    (thrown: unknown) => (thrown instanceof Error ? thrown.message : 'failed'),
  );
  await settled();
  return error;
}

async function twoNodes(): Promise<Dispatching & { n1: DispatchedNode; n2: DispatchedNode }> {
  const made = await leadingDispatcher(nodeWrites('n1'), nodeWrites('n2'), serviceWrites('s', NONE), [
    task('t1', 1, 'n1'),
    task('t2', 2, 'n2'),
    task('t3', 3, 'n2'),
  ]);
  // Two, as asked for.
  const [n1, n2] = (await opened(made, 'n1', 'n2')) as [DispatchedNode, DispatchedNode];
  return { ...made, n1, n2 };
}

describe('logs', () => {
  test('lines of all nodes with tasks of a service, tagged; then it is over', async () => {
    const { dispatcher, n1, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, { ...WHOLE, tail: 5, since: '7' });
    expect(asked(n1)).toMatchObject([{ tasks: ['t1'], tail: 5, since: '7', follow: false, stdout: true }]);
    expect(asked(n2)).toMatchObject([{ tasks: ['t2', 't3'] }]);
    await send(n2, [line('t2', 10), line('t3', 11)]);
    expect([client.isOver, client.lines]).toEqual([false, ['n2 s t2 line 10', 'n2 s t3 line 11']]);
    await send(n1, [line('t1', 9)]);
    expect([client.isOver, client.lines.at(-1)]).toEqual([true, 'n1 s t1 line 9']);
  });

  test('one task alone', async () => {
    const { dispatcher, n1, n2 } = await twoNodes();
    await new Client().read(dispatcher, { ...WHOLE, services: [], tasks: ['t3'] });
    expect([asked(n1).length, asked(n2).map(({ tasks }) => tasks)]).toEqual([0, [['t3']]]);
  });

  test('a node that is away is a warning after the lines of the others', async () => {
    const { dispatcher, manager, n1, n2 } = await twoNodes();
    await n1.cut();
    await manager.write(task('t4', 4));
    const client = await new Client().read(dispatcher, WHOLE);
    await send(n2, [line('t2', 10), { error: 'the log of t3 cannot be read' }]);
    expect(client.lines).toEqual([
      'n2 s t2 line 10',
      `${INCOMPLETE}task t4 has not been scheduled, node n1 is not available, the log of t3 cannot be read`,
    ]);
    expect(client.isOver).toBe(true);
  });

  test('a node that does not send is given up, one that is cut off too', async () => {
    const { dispatcher, manager, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, WHOLE);
    expect(await send(n2, [line('t2', 10)], true)).toBe('the connection is lost');
    await manager.rig.clock.advance(limits.swarmLogsOpenMs);
    expect(client.lines).toEqual([
      'n2 s t2 line 10',
      `${INCOMPLETE}node n1 is not available, node n2 disconnected unexpectedly`,
    ]);
  });

  test('following: tasks that appear later are read from their beginning, until the client goes', async () => {
    const { dispatcher, manager, n1, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, { ...WHOLE, follow: true, tail: 1 });
    await manager.write(task('t4', 4));
    await manager.write(task('t4', 4, 'n1'));
    await settled();
    expect(asked(n1).map(({ tasks, tail }) => [tasks, tail])).toEqual([
      [['t1'], 1],
      [['t4'], undefined],
    ]);
    await send(n1, [line('t4', 20)]);
    await send(n2, []);
    expect([client.isOver, client.lines]).toEqual([false, ['n1 s t4 line 20']]);
    client.gone.abort();
    await settled();
    expect(client.isOver).toBe(true);
    expect(endedLogs(n1)).toEqual([asked(n1)[0]?.id]);
    expect(await send(n2, [line('t2', 30)])).toContain('nobody reads the logs of subscription');
  });

  test('following: what a node that was away has not sent comes when it is back', async () => {
    const { dispatcher, manager, n1, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, { ...WHOLE, follow: true, tail: 3 });
    await send(n1, [line('t1', 10)], true);
    await n1.cut();
    const [again] = (await opened({ dispatcher, manager, facts: undefined as never }, 'n1')) as [
      DispatchedNode,
    ];
    expect(asked(again)).toMatchObject([{ tasks: ['t1'], since: '11' }]);
    expect(asked(again)[0]).not.toHaveProperty('tail');
    await send(again, [line('t1', 11)]);
    expect(client.lines).toEqual(['n1 s t1 line 10', 'n1 s t1 line 11']);
    expect(asked(n2)).toHaveLength(1);
  });

  test('following ends when the service is gone and all has been read', async () => {
    const { dispatcher, manager, n1, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, { ...WHOLE, follow: true });
    await send(n1, []);
    await send(n2, []);
    expect(client.isOver).toBe(false);
    await manager.write(remove('service', 's'), remove('template', 's/1'));
    await manager.rig.clock.advance(100);
    await manager.write(remove('task', 't1'), remove('task', 't2'), remove('task', 't3'));
    await settled();
    expect(client.isOver).toBe(true);
  });

  test('a slow client makes the node wait', async () => {
    const { dispatcher, n1 } = await twoNodes();
    const items = dispatcher.logs({ ...WHOLE, services: [], tasks: ['t1'] }, new AbortController().signal);
    const first = items.next();
    await settled();
    let sent = 0;
    async function* upload(): AsyncGenerator {
      yield { session: n1.session, subscription: asked(n1)[0]?.id };
      for (; sent < 1_000; sent += 1) {
        yield line('t1', sent, 'x'.repeat(10_000));
      }
    }
    const published = n1.upload('logs.publish', upload());
    await first;
    await settled();
    expect(sent).toBeLessThan(90);
    let read = 1;
    for await (const _item of items) {
      read += 1;
    }
    await published;
    expect([read, sent]).toEqual([1_000, 1_000]);
  });

  test('lines of tasks that were not asked for, or for another node, are not taken', async () => {
    const { dispatcher, n1, n2 } = await twoNodes();
    const client = await new Client().read(dispatcher, WHOLE);
    expect(await send(n1, [line('t2', 1)])).toContain('lines of its own tasks');
    async function* foreign(): AsyncGenerator {
      yield { session: n1.session, subscription: asked(n2)[0]?.id };
      yield line('t2', 1);
    }
    await expect(n1.upload('logs.publish', foreign())).rejects.toThrow('nobody reads the logs');
    expect(await send(n2, [{ task: 't2', stream: 'x', at: '1', line: '' }])).toContain('stdout or stderr');
    expect(client.lines.filter((text) => !text.startsWith('warning'))).toEqual([]);
  });

  test('through a manager that follows: by way of the leader', async () => {
    const { dispatcher, manager, n1, n2 } = await twoNodes();
    const caller = {
      identity: { node: 'm2', role: 'swarm-manager' as const, cluster: 'c' },
      address: '10.0.0.9',
    };
    const dialled: string[] = [];
    const follower = await dispatching('m2', manager.rig, {
      dial: (addr) => {
        dialled.push(addr);
        return clientOf(dispatcher, caller);
      },
    });
    const client = await new Client().read(follower.dispatcher, WHOLE);
    await send(n1, [line('t1', 1)]);
    await send(n2, []);
    expect([dialled, client.lines, client.isOver]).toEqual([['m1:2377'], ['n1 s t1 line 1'], true]);
  });

  test('without a leader it says so', async () => {
    const { dispatcher } = await dispatching();
    const client = await new Client().read(dispatcher, WHOLE);
    expect(client.error).toContain('knows of no leader');
  });

  test('a change of the leader ends it with a warning', async () => {
    const { dispatcher, manager } = await twoNodes();
    const client = await new Client().read(dispatcher, { ...WHOLE, follow: true });
    await manager.leadership?.[Symbol.asyncDispose]();
    await settled();
    expect([client.isOver, client.lines]).toEqual([
      true,
      [`${INCOMPLETE}the leader of the swarm has changed`],
    ]);
  });
});
