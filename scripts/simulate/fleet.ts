/**
 * Many nodes of a swarm in one process, over the real port of a manager: each joins with the token, has a certificate,
 * a connection and a session of its own, and says at once that its tasks run. A program of `simulate --memory`:
 * `ADDR TOKEN COUNT CLUSTER`. Prints a line of JSON whenever the numbers have changed.
 */
import { setMaxListeners } from 'node:events';
import type { NodeDescription } from '../../api/types/swarm/node.ts';
import { systemClock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { createRequest } from '../../swarm/ca/x509/request.ts';
import { TaskState } from '../../swarm/objects/task-state.ts';
import type { SessionMessage } from '../../swarm/protocol/session.ts';
import type { Credentials } from '../../swarm/rpc/credentials.ts';
import { Dialer } from '../../swarm/rpc/dialer.ts';
import type { RpcClient } from '../../swarm/rpc/port.ts';

/** What a fleet says of itself. */
export interface FleetState {
  sessions: number;
  running: number;
  /** The last thing that went wrong. */
  trouble: string;
}

/** Nodes that join at a time. */
const JOINING = 4;
const ATTEMPTS = 10;
const TELL_MS = 200;
const AGAIN_MS = 500;

const [addr = '', token = '', count = '0', cluster = ''] = process.argv.slice(2);
const state: FleetState = { sessions: 0, running: 0, trouble: '' };
const ended = new AbortController();
setMaxListeners(0, ended.signal);

let told = '';
setInterval(() => {
  const text = JSON.stringify(state);
  if (text !== told) {
    told = text;
    console.log(text);
  }
}, TELL_MS);

const rootsPem = await rootOf();
let next = 0;
await Promise.all(Array.from({ length: JOINING }, () => joinSome()));

async function joinSome(): Promise<void> {
  for (let number = next++; number < Number(count); number = next++) {
    const own = await joinedAtLast();
    void live(number, own);
  }
}

/** A session that has ended is begun anew, as an agent does. Never rejects. */
async function live(number: number, credentials: Credentials): Promise<void> {
  while (!ended.signal.aborted) {
    try {
      await liveOnce(number, credentials);
    } catch (error) {
      state.trouble = String(error);
    }
    await pause(systemClock, AGAIN_MS, ended.signal);
  }
}

async function rootOf(): Promise<string> {
  using dialer = new Dialer({ clock: systemClock, credentials: () => undefined });
  using client = dialer.dial(addr);
  // What `ca.root` answers.
  const { rootsPem: pem } = (await client.call('ca.root', {})) as { rootsPem: string };
  return pem;
}

/** As a node that joins: again for as long as nobody answers. */
async function joinedAtLast(): Promise<Credentials> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await joined();
    } catch (error) {
      state.trouble = String(error);
      if (attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}

async function joined(): Promise<Credentials> {
  const { requestPem, keyPem } = createRequest();
  using dialer = new Dialer({ clock: systemClock, credentials: () => ({ rootsPem }) });
  using client = dialer.dial(addr);
  // What `ca.issue` answers.
  const { certPem } = (await client.call('ca.issue', { requestPem, token })) as { certPem: string };
  return { rootsPem, own: { certPem, keyPem, cluster } };
}

async function liveOnce(number: number, credentials: Credentials): Promise<void> {
  using dialer = new Dialer({ clock: systemClock, credentials: () => credentials });
  using client = dialer.dial(addr);
  const opening = { description: descriptionOf(number), addr: `10.9.${number >> 8}.${number & 255}` };
  let session = '';
  using _end = { [Symbol.dispose]: () => (state.sessions -= session === '' ? 0 : 1) };
  for await (const value of client.stream('session.open', opening, ended.signal)) {
    // What the stream of sessions has.
    const message = value as SessionMessage;
    if (message.kind === 'welcome') {
      ({ session } = message);
      state.sessions += 1;
      beat(client, session, message.heartbeatMs);
    } else if (message.kind === 'assignments' && message.assignments.tasks.length > 0) {
      const statuses = message.assignments.tasks.map((task) => ({
        id: task.id,
        state: TaskState.running,
        message: 'started',
        container: { id: task.id.repeat(3).slice(0, 64), pid: 4711 },
      }));
      await client.call('session.report', { session, statuses });
      state.running += statuses.length;
    }
  }
}

function beat(client: RpcClient, session: string, periodMs: number): void {
  setTimeout(() => {
    void client.call('session.heartbeat', { session }).then(
      () => beat(client, session, periodMs),
      (error: unknown) => {
        state.trouble = String(error);
      },
    );
  }, periodMs);
}

function descriptionOf(number: number): NodeDescription {
  return {
    Hostname: `host${number}`,
    Platform: { Architecture: 'x86_64', OS: 'linux' },
    Resources: { NanoCPUs: 8_000_000_000, MemoryBytes: 33_554_432_000 },
    Engine: {
      EngineVersion: '24.0.0',
      Labels: { zone: `z${number % 5}`, disk: 'ssd' },
      Plugins: ['bridge', 'host', 'macvlan', 'null', 'overlay'].map((Name) => ({ Type: 'Network', Name })),
    },
  };
}
