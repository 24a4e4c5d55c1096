import { expect, test } from 'vitest';
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
