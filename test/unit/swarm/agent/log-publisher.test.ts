import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { LogPublisher } from '../../../../swarm/agent/log-publisher.ts';
import type { OpenSession } from '../../../../swarm/agent/session-client.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';

test('logs of tasks that cannot be read: the leader is told why, after the lines that could be', async () => {
  const executor = new FakeExecutor();
  executor.before = (step) => {
    if (step === 'logs') {
      throw new Error('no such log');
    }
  };
  const sent: unknown[] = [];
  const upload = async (_name: string, values: AsyncIterable<unknown>): Promise<void> => {
    for await (const value of values) {
      sent.push(value);
    }
  };
  // Only this much of a session is used.
  const session = { id: 'session1', signal: new AbortController().signal, client: { upload } } as unknown;
  new LogPublisher(executor, silentLogger).begin(session as OpenSession, {
    id: 'sub1',
    tasks: ['one'],
    follow: false,
    stdout: true,
    stderr: true,
  });
  await settled();
  expect(sent).toEqual([
    { session: 'session1', subscription: 'sub1' },
    { task: 'one', stream: 'stdout', at: '1', line: Buffer.from('line of one\n').toString('base64') },
    { error: 'no such log' },
  ]);
});

test('logs: one reader more than a node serves is told so at once, and is served when another has gone', async () => {
  const executor = new FakeExecutor();
  // Nothing is written, and the readers wait.
  executor.logs = (_subscription, signal) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        return { done: true, value: undefined };
      },
    }),
  });
  const sent = new Map<string, unknown[]>();
  const upload = async (_name: string, values: AsyncIterable<unknown>): Promise<void> => {
    const all: unknown[] = [];
    for await (const value of values) {
      all.push(value);
      // The head of each stream.
      sent.set((all[0] as { subscription: string }).subscription, all);
    }
  };
  // Only this much of a session is used.
  const session = {
    id: 's',
    signal: new AbortController().signal,
    client: { upload },
  } as unknown as OpenSession;
  const publisher = new LogPublisher(executor, silentLogger);
  const wanted = { tasks: ['one'], follow: true, stdout: true, stderr: true };
  for (let number = 1; number <= limits.swarmLogStreamsMax + 1; number += 1) {
    publisher.begin(session, { id: `sub${number}`, ...wanted });
  }
  await settled();
  const last = limits.swarmLogStreamsMax + 1;
  expect([sent.size, sent.get('sub1'), sent.get(`sub${last}`)]).toEqual([
    last,
    [{ session: 's', subscription: 'sub1' }],
    [
      { session: 's', subscription: `sub${last}` },
      { error: `the node of these tasks serves ${limits.swarmLogStreamsMax} readers of logs already` },
    ],
  ]);
  publisher.end('sub1');
  await settled();
  publisher.begin(session, { id: 'again', ...wanted });
  await settled();
  expect(sent.get('again')).toEqual([{ session: 's', subscription: 'again' }]);
});
