import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { SessionClient } from '../../../../swarm/agent/session-client.ts';
import { Suspicion } from '../../../../swarm/agent/suspicion.ts';
import { notLeader } from '../../../../swarm/protocol/not-leader.ts';
import type { Dial } from '../../../../swarm/rpc/port.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { FakeLeader } from '../../../support/swarm/fake-leader.ts';

const [A, B, C] = ['a:2377', 'b:2377', 'c:2377'];

let clock: ManualClock;
let leader: FakeLeader;
let client: SessionClient | undefined;

beforeEach(() => {
  clock = new ManualClock();
  leader = new FakeLeader();
});
afterEach(() => client?.[Symbol.asyncDispose]());

async function start(managers: readonly string[], dial: Dial = leader.dial): Promise<void> {
  client = new SessionClient({
    dial,
    managers: () => managers.map((addr) => ({ node: addr, addr })),
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    logger: silentLogger,
    addr: '10.0.0.1',
    dataAddr: '',
    describe: async () => ({ description: { Hostname: 'h' } }),
    opened: () => ({ [Symbol.dispose]: () => undefined }),
    message: () => undefined,
  });
  await settled();
}

/** Whom it dialled since, until a time has passed. */
async function dialled(ms: number): Promise<string[]> {
  leader.dialled.length = 0;
  await clock.advance(ms);
  return [...leader.dialled];
}

/** A host that is gone: what is sent to it is never answered. */
function without(addr: string): Dial {
  return (dialledAddr) => {
    const there = leader.dial(dialledAddr);
    return {
      ...there,
      async *stream(method, body, signal) {
        if (dialledAddr === addr) {
          await new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          });
        }
        yield* there.stream(method, body, signal);
      },
    };
  };
}

test('while managers answer that another one leads, they are asked at least each second', async () => {
  leader.refusals.set(A, notLeader(undefined));
  await start([A]);
  await clock.advance(20_000);
  const [next = 0] = clock.pendingMs;
  expect(next).toBeLessThanOrEqual(limits.swarmSessionElectionMs);
  leader.refusals.delete(A);
  await clock.advance(limits.swarmSessionElectionMs);
  expect(leader.session.addr).toBe(A);
});

test('a lost leader is asked once more by way of the others, who have elected within a second of pauses', async () => {
  await start([A, B, C]);
  expect(leader.session.addr).toBe(A);
  for (const addr of [B, C]) {
    leader.refusals.set(addr, notLeader(A));
  }
  leader.refusals.set(A, new EngineError('unavailable', 'nobody answers'));
  leader.session.end(new EngineError('unavailable', 'the connection was lost'));
  await settled();
  // Another one is asked first; it names the old leader, which has that one chance for now.
  expect(await dialled(100)).toEqual([B, A]);
  expect(new Set(await dialled(limits.swarmSessionSuspectAgainMs - 200))).toEqual(new Set([B]));
  leader.refusals.set(B, notLeader(C));
  leader.refusals.delete(C);
  await clock.advance(limits.swarmSessionElectionMs);
  expect(leader.session.addr).toBe(C);
});

test('suspicion: an answer ends it, five silences end the haste', () => {
  const suspicion = new Suspicion();
  expect([suspicion.addr, suspicion.patienceMs(A)]).toEqual([undefined, undefined]);
  suspicion.lost(A);
  expect(suspicion.patienceMs(A)).toBe(limits.swarmSessionSuspectMs);
  expect(suspicion.isTooEarly(A, 0)).toBe(false);
  suspicion.silent(A, 10);
  expect(suspicion.isTooEarly(A, 10 + limits.swarmSessionSuspectAgainMs - 1)).toBe(true);
  expect(suspicion.isTooEarly(A, 10 + limits.swarmSessionSuspectAgainMs)).toBe(false);
  expect(suspicion.isTooEarly(B, 10)).toBe(false);
  for (let at = 1; at < limits.swarmSessionSuspectTries; at += 1) {
    suspicion.silent(A, 10);
  }
  expect(suspicion.patienceMs(A)).toBe(undefined);
  suspicion.answered(B);
  expect(suspicion.addr).toBe(A);
  suspicion.answered(A);
  expect(suspicion.addr).toBe(undefined);
});

test('a suspected manager that is silent is given up after a second', async () => {
  let gone = '';
  const dial: Dial = (addr) => (gone === addr ? without(addr) : leader.dial)(addr);
  await start([A, B], dial);
  leader.refusals.set(B, notLeader(A));
  gone = A;
  leader.session.end(new EngineError('unavailable', 'the connection was lost'));
  await settled();
  expect(await dialled(limits.swarmSessionRetryMs)).toEqual([B, A]);
  expect(client?.trouble).toBe(`this manager does not lead the swarm, the leader is at ${A}`);
  await clock.advance(limits.swarmSessionSuspectMs);
  expect(client?.trouble).toBe(`${A} does not answer`);
});
