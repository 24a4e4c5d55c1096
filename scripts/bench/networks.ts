import type { HttpClient } from '../../test/support/engine/http.ts';
import { create, exec, remove, runToEnd, start } from './containers.ts';
import type { Prepared, Workload } from './workload.ts';

const NETWORK = 'bench';
const SLEEPER = ['sleep', '100000'];
/** A static busybox has neither name services nor a fast socket: the machine's own Python does both. */
const HOST_PROGRAMS = { Binds: ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'] };
const QUESTIONS = 5000;
const MEGABYTES = 1024;
const PORT = 5001;
const PUBLISHED_PORT = 25_001;

/** Asks the container's name server for `server`, 16 questions on their way at a time; prints milliseconds. */
const ASK = `import socket, time
s = socket.socket(2, 2); s.connect(('127.0.0.11', 53)); s.settimeout(5)
q = lambda n: n.to_bytes(2, 'big') + b'\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6server\\0\\0\\1\\0\\1'
begin = time.perf_counter(); sent = got = 0
while got < ${QUESTIONS}:
    while sent < ${QUESTIONS} and sent - got < 16:
        s.send(q(sent)); sent += 1
    a = s.recv(512); got += 1
    assert a[3] & 15 == 0 and a[7] == 1, a
print((time.perf_counter() - begin) * 1000)`;

/** Takes what comes, and says so at the end. */
const RECEIVE = `import socket
l = socket.socket(); l.setsockopt(1, 2, 1); l.bind(('0.0.0.0', ${PORT})); l.listen(9)
b = bytearray(1 << 20)
while True:
    c, _ = l.accept()
    while c.recv_into(b): pass
    c.send(b'.'); c.close()`;

function send(host: string, port: number): string {
  return `import socket, time
for attempt in range(200):
    try: s = socket.create_connection(('${host}', ${port})); break
    except OSError: time.sleep(0.05)
b = bytes(1 << 20); begin = time.perf_counter()
for _ in range(${MEGABYTES}): s.sendall(b)
s.shutdown(1); assert s.recv(1) == b'.'
print((time.perf_counter() - begin) * 1000)`;
}

/** Networks of users, names, published ports and what passes through them. */
export const networkWorkloads: readonly Workload[] = [
  {
    name: 'run-network',
    what: 'create+start+wait+remove, network of a user',
    unit: 'ms',
    target: 0.25,
    rounds: 15,
    prepare: async ({ http }) => {
      await http.ok('POST', '/networks/create', { Name: NETWORK });
      return { ids: [], end: () => http.ok('DELETE', `/networks/${NETWORK}`) };
    },
    run: ({ http }) => timed(() => runToEnd(http, { NetworkMode: NETWORK })),
  },
  {
    name: 'network',
    what: 'network create+remove',
    unit: 'ms',
    target: 0.3,
    rounds: 15,
    run: ({ http }) =>
      timed(async () => {
        await http.ok('POST', '/networks/create', { Name: 'bench-short' });
        await http.ok('DELETE', '/networks/bench-short');
      }),
  },
  {
    name: 'dns',
    what: `${QUESTIONS} answers of the embedded name server`,
    unit: 'ms',
    target: 1,
    rounds: 5,
    prepare: ({ http }) => pair(http, {}),
    run: async ({ http }, { ids }) => Number(await exec(http, ids[1] ?? '', python(ASK))),
  },
  {
    name: 'throughput',
    what: `${MEGABYTES} MB from container to container`,
    unit: 'ms',
    target: 1,
    rounds: 5,
    prepare: ({ http }) => pair(http, {}),
    run: async ({ http }, { ids }) => Number(await exec(http, ids[1] ?? '', python(send('server', PORT)))),
  },
  {
    name: 'throughput-port',
    what: `${MEGABYTES} MB from the host through a published port`,
    unit: 'ms',
    target: 1,
    rounds: 5,
    prepare: ({ http }) => pair(http, { [`${PORT}/tcp`]: [{ HostPort: String(PUBLISHED_PORT) }] }),
    run: async ({ netns }) => Number(await netns.run(...python(send('127.0.0.1', PUBLISHED_PORT)))),
  },
  {
    name: 'ports-400',
    what: 'create+start with 400 published ports',
    unit: 'ms',
    target: 0.2,
    // dockerd takes a minute.
    rounds: 1,
    run: ({ http }) => startPublished(http, 400),
  },
  {
    name: 'ports-1000',
    what: 'create+start with 1,000 published ports',
    unit: 'ms',
    target: null,
    max: 1000,
    rounds: 3,
    // dockerd needs a process and iptables rules for each: more processes than a machine of tests lets it have.
    engine: 'berthd',
    run: ({ http }) => startPublished(http, 1000),
  },
];

/** A receiver named `server` and another container beside it, in a network of their own. */
async function pair(http: HttpClient, ports: object): Promise<Prepared> {
  await http.ok('POST', '/networks/create', { Name: NETWORK });
  const ids: string[] = [];
  for (const [name, command, PortBindings] of [
    ['server', python(RECEIVE), ports],
    ['client', SLEEPER, {}],
  ] as const) {
    const id = await create(http, command, { NetworkMode: NETWORK, PortBindings, ...HOST_PROGRAMS }, name);
    await start(http, id);
    ids.push(id);
  }
  return { ids, end: () => http.ok('DELETE', `/networks/${NETWORK}`) };
}

async function startPublished(http: HttpClient, count: number): Promise<number> {
  const PortBindings = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${1000 + index}/tcp`,
      [{ HostIp: '0.0.0.0', HostPort: String(26_000 + index) }],
    ]),
  );
  let id = '';
  const ms = await timed(async () => {
    id = await create(http, SLEEPER, { NetworkMode: 'bridge', PortBindings });
    await start(http, id);
  });
  await remove(http, id);
  return ms;
}

function python(code: string): string[] {
  return ['/usr/bin/python3', '-c', code];
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}
