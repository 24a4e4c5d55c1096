import { beforeEach, describe, expect, test } from 'vitest';
import type { AttachContainer } from '../../../../api/types/swarm/networks.ts';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Attachments } from '../../../../swarm/agent/attachments.ts';
import { ToldEndpoints } from '../../../../swarm/agent/told-endpoints.ts';
import type { AttachedRequest } from '../../../../swarm/protocol/attachments.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';
import { FakeLeader } from '../../../support/swarm/fake-leader.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { endpointOf } from '../../../support/swarm/overlay-objects.ts';

const NEVER = new AbortController().signal;
const WISH: AttachContainer = { network: 'back', container: 'c1', names: ['c1'], addresses: [] };
const ANSWER = { id: 'x1', network: 'net1', addresses: ['10.1.0.2'] };

let clock: ManualClock;
let leader: FakeLeader;
let executor: FakeExecutor;
let endpoints: ToldEndpoints;
let attachments: Attachments;
let sessions: number;

beforeEach(() => {
  clock = new ManualClock();
  leader = new FakeLeader();
  leader.answers.set('networks.attach', () => ANSWER);
  executor = new FakeExecutor();
  endpoints = new ToldEndpoints('node1');
  attachments = new Attachments({ clock, logger: silentLogger, executor, endpoints });
  sessions = 0;
});

/** Answers what ends the session. */
async function session(): Promise<() => Promise<void>> {
  const gone = new AbortController();
  const client = leader.dial('m1:2377');
  sessions += 1;
  const opened = attachments.opened({ id: `session${sessions}`, client, signal: gone.signal });
  await settled();
  return async () => {
    gone.abort();
    opened[Symbol.dispose]();
    await settled();
  };
}

function told(given: Partial<Parameters<typeof endpointOf>[2]> = {}): void {
  const endpoint = endpointOf('x1', 2, { node: 'node1', addresses: ['10.1.0.2'], ...given });
  endpoints.take(networksChange({ endpoints: [endpoint] }));
}

/** What becomes of it, as it is known now. */
function watched(work: Promise<unknown>): () => Promise<unknown> {
  let outcome: unknown = 'nothing yet';
  work.then(
    (value) => (outcome = value ?? 'done'),
    (error: unknown) => (outcome = error instanceof EngineError ? `${error.code}: ${error.message}` : error),
  );
  return async () => {
    await settled();
    return outcome;
  };
}

const lists = (): string[][] =>
  leader
    .bodies('networks.attached')
    .map((body) =>
      (body as AttachedRequest).attachments.map(({ network, container }) => `${container}@${network}`),
    );
const calls = (): string[] => leader.calls.map(({ method }) => method.replace('networks.', ''));

describe('attach', () => {
  test('asks after the node has said what it has, and waits until its engine knows the endpoint', async () => {
    const outcome = watched(attachments.attach(WISH, NEVER));
    await session();
    expect([calls(), await outcome()]).toEqual([['attached', 'attach'], 'nothing yet']);
    told({ node: 'node2' });
    told({ addresses: ['10.1.0.9'] });
    told({ service: 's' });
    expect(await outcome()).toBe('nothing yet');
    told();
    expect(await outcome()).toEqual({ addresses: ['10.1.0.2'] });
  });

  test('an endpoint that was told and is gone again does not count', async () => {
    await session();
    told();
    endpoints.take(networksChange({ removedEndpoints: [{ network: 'net1', id: 'x1' }] }));
    const one = watched(attachments.attach(WISH, NEVER));
    expect(await one()).toBe('nothing yet');
    told();
    expect(await one()).toEqual({ addresses: ['10.1.0.2'] });
    endpoints.take(networksChange({ removedNetworks: ['net1'] }));
    const two = watched(attachments.attach(WISH, NEVER));
    expect(await two()).toBe('nothing yet');
    told();
    endpoints.take(networksChange({ full: true }));
    const three = watched(attachments.attach(WISH, NEVER));
    expect([await two(), await three()]).toEqual([{ addresses: ['10.1.0.2'] }, 'nothing yet']);
  });

  test("an engine that never hears of it: after 20 s, in dockerd's words, and the leader takes it back", async () => {
    await session();
    const outcome = watched(attachments.attach(WISH, NEVER));
    await settled();
    await clock.advance(20_000);
    expect(await outcome()).toBe(
      'unavailable: attaching to network failed, make sure your network options are correct and check manager ' +
        'logs: context deadline exceeded',
    );
    expect(leader.bodies('networks.detach')).toEqual([
      { session: 'session1', network: 'net1', container: 'c1' },
    ]);
  });

  test('a leader that does not answer is asked again, and told that it went when nobody waits any more', async () => {
    leader.failing = (method) =>
      method === 'networks.attach' ? new EngineError('unavailable', 'not now') : undefined;
    await session();
    const stop = new AbortController();
    const outcome = watched(attachments.attach(WISH, stop.signal));
    await clock.advance(5_000);
    stop.abort();
    expect(await outcome()).toBe('canceled: Could not attach to network back: canceled');
    leader.failing = undefined;
    await clock.advance(10_000);
    expect(calls()).toEqual(['attached', 'detach']);
  });

  test('a session that is about to end is asked nothing more', async () => {
    const gone = new AbortController();
    const client = leader.dial('m1:2377');
    let refused = 0;
    leader.failing = () => {
      gone.abort();
      refused += 1;
      // An agent that asks on and on lets nothing else happen: it must find an end here.
      return refused < 1000
        ? new EngineError('unavailable', 'this manager does not lead the swarm')
        : undefined;
    };
    using _opened = attachments.opened({ id: 'session1', client, signal: gone.signal });
    await settled();
    expect(refused).toBe(1);
    leader.failing = undefined;
    await session();
    expect(calls()).toEqual(['attached']);
  });

  test('one that was never asked for needs no word', async () => {
    const stop = new AbortController();
    const outcome = watched(attachments.attach(WISH, stop.signal));
    stop.abort();
    expect(await outcome()).toBe('canceled: Could not attach to network back: canceled');
    await session();
    expect(calls()).toEqual(['attached']);
  });

  test('what the leader refuses is thrown, and nothing is taken back', async () => {
    leader.answers.set('networks.attach', () => {
      throw new EngineError('forbidden', 'not manually attachable');
    });
    await session();
    expect(await watched(attachments.attach(WISH, NEVER))()).toBe('forbidden: not manually attachable');
    expect(calls()).toEqual(['attached', 'attach']);
  });

  test('nothing is asked once the daemon ends', async () => {
    const outcome = watched(attachments.attach(WISH, NEVER));
    attachments[Symbol.dispose]();
    expect(await outcome()).toBe('canceled: Could not attach to network back: canceled');
    await session();
    expect(calls()).toEqual([]);
    expect(await watched(attachments.detach(WISH))()).toBe('done');
  });
});

describe('what a session is told first', () => {
  test('what the engine has and what was just let in, each once, without what has gone', async () => {
    const end = await session();
    const outcome = watched(attachments.attach(WISH, NEVER));
    await settled();
    told();
    await outcome();
    await end();
    executor.attached = [
      { network: 'net1', container: 'c1', names: ['c1'], addresses: ['10.1.0.2'] },
      { network: 'net1', container: 'c2', names: [], addresses: ['10.1.0.3'] },
      { network: 'net1', container: 'c3', names: [], addresses: ['10.1.0.4'] },
    ];
    expect(await watched(attachments.detach({ network: 'net1', container: 'c3' }))()).toBe('done');
    await session();
    expect(lists()).toEqual([[], ['c1@net1', 'c2@net1']]);
    expect(calls().slice(2)).toEqual(['attached', 'detach']);
  });

  test('is told again where it was not taken, and before anything else', async () => {
    let failures = 3;
    leader.failing = (method) => {
      failures -= 1;
      return method === 'networks.attached' && failures >= 0
        ? new EngineError('deadline_exceeded', 'no answer')
        : undefined;
    };
    const outcome = watched(attachments.attach(WISH, NEVER));
    await session();
    await clock.advance(2_000);
    expect([calls(), await outcome()]).toEqual([['attached', 'attach'], 'nothing yet']);
  });
});

describe('detach', () => {
  test('by the name it was asked for: the leader hears the id', async () => {
    await session();
    const outcome = watched(attachments.attach(WISH, NEVER));
    await settled();
    told();
    await outcome();
    expect(await watched(attachments.detach({ network: 'back', container: 'c1' }))()).toBe('done');
    expect(leader.bodies('networks.detach')).toEqual([
      { session: 'session1', network: 'net1', container: 'c1' },
    ]);
    const end = await session();
    await end();
    expect(lists()).toEqual([[], []]);
  });

  test('waits for a leader that does not answer for 2 s, and goes on telling it', async () => {
    leader.failing = (method) =>
      method === 'networks.detach' ? new EngineError('unavailable', 'not now') : undefined;
    await session();
    const outcome = watched(attachments.detach({ network: 'net1', container: 'c1' }));
    await clock.advance(1_999);
    expect(await outcome()).toBe('nothing yet');
    await clock.advance(1);
    expect(await outcome()).toBe('done');
    leader.failing = undefined;
    await clock.advance(10_000);
    expect(calls()).toEqual(['attached', 'detach']);
  });

  test('ends what waits to be let in', async () => {
    const outcome = watched(attachments.attach(WISH, NEVER));
    await attachments.detach(WISH);
    expect(await outcome()).toBe('canceled: the container left network back again');
    await session();
    expect(calls()).toEqual(['attached', 'detach']);
  });

  test('and let in again at once: told in that order', async () => {
    void attachments.detach(WISH);
    const outcome = watched(attachments.attach(WISH, NEVER));
    await session();
    told();
    expect(await outcome()).toEqual({ addresses: ['10.1.0.2'] });
    expect(calls()).toEqual(['attached', 'detach', 'attach']);
  });
});
