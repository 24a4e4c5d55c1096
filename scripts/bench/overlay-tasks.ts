import type { ServiceInspect } from '../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../api/types/swarm/task.ts';
import { TestDaemon } from '../../test/support/engine/daemon.ts';
import { sleep } from '../../test/support/engine/http.ts';
import { TestSwarm } from '../../test/support/swarm/hosts/test-swarm.ts';
import { create, start } from './containers.ts';
import type { Workload } from './workload.ts';

const TASKS = 50;
const NODES = 3;
const NETWORK = 'bench-overlay';
const CLIENT = 'bench-client';
const SERVICE = 'bench';
const SUBNET = '10.63.0.0/22';
const LOOK_MS = 50;
const PATIENCE_MS = 300_000;
/** A page with the task's host name. The shell does not wait for its grace period. */
const PAGE =
  'mkdir -p /www; hostname >/www/index.html; httpd -p 80 -h /www; trap exit TERM; sleep 3600 & wait';

/** Asks each address until it has answered, then the virtual one, if any, until as many different tasks have. */
const ASK = `import sys, socket
def page(host):
    s = socket.create_connection((host, 80), 2); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    got = b''
    while part := s.recv(4096): got += part
    assert b' 200 ' in got, got
    return got.split(b'\\r\\n\\r\\n')[1]
def until(host):
    while True:
        try: return page(host)
        except OSError: pass
vip, *own = sys.argv[1:]
names = {until(host) for host in own}
assert len(names) == len(own), names
through = set()
while vip != '-' and through != names: through.add(until(vip))`;

/**
 * Where the service is asked for and where its client is: for dockerd its swarm of one, with `endpoint-mode dnsrr`,
 * because its virtual addresses need IPVS, which kernels for tests may lack; for Berth three hosts of its own.
 */
interface Place {
  daemon: TestDaemon;
  mode: 'vip' | 'dnsrr';
}

let swarm: TestSwarm | undefined;

export const overlayTaskWorkloads: readonly Workload[] = [
  {
    name: 'overlay-50',
    what: `${TASKS} tasks in an overlay until all answer: three nodes, virtual address; dockerd one, without`,
    unit: 'ms',
    target: 0.5,
    rounds: 3,
    prepare: async (daemon) => {
      const place = await begin(daemon);
      const { http } = place.daemon;
      await http.ok('POST', '/networks/create', {
        Name: NETWORK,
        Driver: 'overlay',
        Attachable: true,
        IPAM: { Config: [{ Subnet: SUBNET }] },
      });
      await start(http, await create(http, ['sleep', '100000'], { NetworkMode: NETWORK }, CLIENT));
      return { ids: [], end: () => finish(place) };
    },
    run: async (daemon) => {
      const place = placeOf(daemon);
      const { http } = place.daemon;
      const started = performance.now();
      await http.ok('POST', '/services/create', {
        Name: SERVICE,
        TaskTemplate: {
          ContainerSpec: { Image: 'busybox:latest', Command: ['sh', '-c', PAGE] },
          Networks: [{ Target: NETWORK }],
        },
        Mode: { Replicated: { Replicas: TASKS } },
        EndpointSpec: { Mode: place.mode },
      });
      await allAnswer(place);
      const took = performance.now() - started;
      await http.ok('DELETE', `/services/${SERVICE}`);
      await soon('no task', async () => (await http.ok<unknown[]>('GET', '/tasks')).length === 0);
      await soon('no container', async () => (await containers(daemon)) === 0);
      return took;
    },
  },
];

async function begin(daemon: TestDaemon): Promise<Place> {
  if (daemon.engine === 'berthd') {
    swarm = await TestSwarm.start(NODES, { config: { 'log-level': 'warn' } });
    await swarm.init();
    for (let number = 2; number <= NODES; number += 1) {
      await swarm.join(number, 'worker');
    }
  } else {
    await daemon.http.ok('POST', '/swarm/init', {
      ListenAddr: '127.0.0.1:2377',
      AdvertiseAddr: '127.0.0.1:2377',
    });
  }
  return placeOf(daemon);
}

function placeOf(daemon: TestDaemon): Place {
  if (daemon.engine !== 'berthd') {
    return { daemon, mode: 'dnsrr' };
  }
  if (swarm === undefined) {
    throw new Error('nothing was prepared');
  }
  return { daemon: swarm.node(1).daemon, mode: 'vip' };
}

async function finish({ daemon }: Place): Promise<void> {
  if (swarm?.node(1).daemon === daemon) {
    await swarm[Symbol.asyncDispose]();
    swarm = undefined;
    return;
  }
  await daemon.http.ok('DELETE', `/containers/${CLIENT}?force=1`);
  await daemon.http.ok('POST', '/swarm/leave?force=1');
}

/** All tasks run, as the manager says, and answer to the client. */
async function allAnswer({ daemon, mode }: Place): Promise<void> {
  const filters = encodeURIComponent(`{"service":["${SERVICE}"],"desired-state":["running"]}`);
  let tasks: TaskInspect[] = [];
  await soon(`${TASKS} tasks`, async () => {
    tasks = await daemon.http.ok<TaskInspect[]>('GET', `/tasks?filters=${filters}`);
    return tasks.filter(({ Status }) => Status?.State === 'running').length === TASKS;
  });
  const { Endpoint } = await daemon.http.ok<ServiceInspect>('GET', `/services/${SERVICE}`);
  const vip = mode === 'vip' ? plain(Endpoint?.VirtualIPs?.[0]?.Addr) : '-';
  const own = tasks.map(({ NetworksAttachments }) => plain(NetworksAttachments?.[0]?.Addresses?.[0]));
  const { State } = await daemon.http.ok<{ State: { Pid: number } }>('GET', `/containers/${CLIENT}/json`);
  const inClient = ['nsenter', `--net=/proc/${State.Pid}/ns/net`, '/usr/bin/python3', '-c', ASK];
  await daemon.netns.run(...inClient, vip, ...own);
}

function plain(address: string | undefined): string {
  return address?.split('/')[0] ?? '';
}

/** Running ones, without the client, of all nodes. */
async function containers(daemon: TestDaemon): Promise<number> {
  const daemons = daemon.engine === 'berthd' ? (swarm?.nodes ?? []).map((node) => node.daemon) : [daemon];
  const lists = await Promise.all(daemons.map(({ http }) => http.ok<unknown[]>('GET', '/containers/json')));
  return lists.flat().length - 1;
}

async function soon(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    }
    await sleep(LOOK_MS);
  }
}
