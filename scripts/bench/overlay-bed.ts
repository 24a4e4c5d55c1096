import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { TestNetns } from '../../test/support/engine/netns.ts';
import { until } from '../../test/support/engine/http.ts';
import { tasksOf } from '../../test/support/swarm/hosts/pages.ts';
import { TestSwarm } from '../../test/support/swarm/hosts/test-swarm.ts';

/** A way from a client on the first host to a server on the second: the client's namespace, the server's address. */
export interface Way {
  netns: string;
  address: string;
}

export type WayName = 'bare' | 'overlay' | 'vip';

const NETWORK = 'bench';
const SUBNET = '10.61.0.0/24';
const SERVER = 'server';
export const SINK_PORT = 5001;
export const DOOR_PORT = 5002;
const BARE = ['10.62.0.1', '10.62.0.2'] as const;
/** Of the devices made by hand: a UDP port of their own, so that they share nothing with Berth's. */
const BARE_VNI = 77;
const BARE_PORT = 4790;
/** What VXLAN takes of Ethernet's 1,500 bytes: Berth finds the same. */
const MTU = 1450;

/** At one port it takes what comes and says so at the end, at the other it closes what opens. */
const SERVE = `import socket, threading
def listening(port):
    l = socket.socket(); l.setsockopt(1, 2, 1); l.bind(('0.0.0.0', port)); l.listen(512); return l
def take(l):
    b = bytearray(1 << 20)
    while True:
        c, _ = l.accept()
        while c.recv_into(b): pass
        c.send(b'.'); c.close()
sink, door = listening(${SINK_PORT}), listening(${DOOR_PORT})
threading.Thread(target=take, args=(sink,), daemon=True).start()
print('ready', flush=True)
while True: door.accept()[0].close()`;

/**
 * Two hosts with a swarm of two real daemons, and three ways between them: an overlay network of Berth's from a
 * container to a task, the virtual address of that task's service, and a VXLAN device in a namespace of each host, made
 * with ip(8). Programs run in the namespaces without anything else that an engine does to a process.
 */
export class OverlayBed implements AsyncDisposable {
  readonly ways: Readonly<Record<WayName, Way>>;
  readonly #swarm: TestSwarm;
  readonly #owned: (Disposable | ChildProcess)[];

  private constructor(
    swarm: TestSwarm,
    ways: Readonly<Record<WayName, Way>>,
    owned: (Disposable | ChildProcess)[],
  ) {
    this.#swarm = swarm;
    this.ways = ways;
    this.#owned = owned;
  }

  static async start(): Promise<OverlayBed> {
    const swarm = await TestSwarm.start(2, { config: { 'log-level': 'warn' } });
    const owned: (Disposable | ChildProcess)[] = [];
    try {
      await swarm.init();
      await swarm.join(2, 'worker');
      const { client, server, vip, address } = await overlayEnds(swarm);
      const [near, far] = bareEnds(swarm, owned);
      for (const netns of [far, server]) {
        owned.push(await serving(netns));
      }
      const ways = {
        bare: { netns: near, address: BARE[1] },
        overlay: { netns: client, address },
        vip: { netns: client, address: vip },
      };
      return new OverlayBed(swarm, ways, owned);
    } catch (error) {
      await end(owned, swarm);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#owned, this.#swarm);
  }
}

async function end(owned: readonly (Disposable | ChildProcess)[], swarm: TestSwarm): Promise<void> {
  for (const each of owned) {
    if ('kill' in each) {
      each.kill('SIGKILL');
    } else {
      each[Symbol.dispose]();
    }
  }
  await swarm[Symbol.asyncDispose]();
}

interface OverlayEnds {
  client: string;
  server: string;
  address: string;
  vip: string;
}

async function overlayEnds(swarm: TestSwarm): Promise<OverlayEnds> {
  const sleeper = ['busybox', 'sleep', '100000'];
  const driver = ['--driver', 'overlay', '--attachable', '--subnet', SUBNET];
  await swarm.must(1, 'network', 'create', ...driver, NETWORK);
  const place = ['--constraint', 'node.hostname==n2', '--network', NETWORK, '--detach=false'];
  await swarm.must(1, 'service', 'create', '--name', SERVER, ...place, ...sleeper);
  const client = await swarm.must(1, 'run', '--detach', '--network', NETWORK, ...sleeper);
  const [task] = await tasksOf(swarm, SERVER);
  if (task === undefined) {
    throw new Error(`no task of ${SERVER} runs`);
  }
  const { Endpoint } = await swarm
    .node(1)
    .daemon.http.ok<{ Endpoint: { VirtualIPs: { Addr: string }[] } }>('GET', `/services/${SERVER}`);
  return {
    client: (await inside(swarm, 1, client)).netns,
    server: (await inside(swarm, 2, task.container)).netns,
    address: (await inside(swarm, 2, task.container)).address,
    vip: Endpoint.VirtualIPs[0]?.Addr.split('/')[0] ?? '',
  };
}

async function inside(swarm: TestSwarm, node: number, container: string): Promise<Way> {
  const { State, NetworkSettings } = await swarm.node(node).daemon.http.ok<{
    State: { Pid: number };
    NetworkSettings: { Networks: Record<string, { IPAddress: string }> };
  }>('GET', `/containers/${container}/json`);
  return {
    netns: `/proc/${State.Pid}/ns/net`,
    address: NetworkSettings.Networks[NETWORK]?.IPAddress ?? '',
  };
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The namespaces of the two devices made by hand. */
function bareEnds(swarm: TestSwarm, owned: Disposable[]): [near: string, far: string] {
  const [near, far] = [1, 2].map((number) => {
    const { daemon, addr } = swarm.node(number);
    const remote = swarm.node(3 - number).addr;
    const netns = new TestNetns(`${daemon.name}-bare`);
    owned.push(netns);
    const device = `id ${BARE_VNI} dstport ${BARE_PORT} local ${addr} remote ${remote} dev eth0 nolearning`;
    // Born in the namespace, while its packets are the host's: as Berth's devices are.
    const add = `link add bare netns ${netns.name} mtu ${MTU} type vxlan ${device}`;
    ip('-n', daemon.netns.name, ...add.split(' '));
    ip('-n', netns.name, 'addr', 'add', `${BARE[number - 1]}/24`, 'dev', 'bare');
    ip('-n', netns.name, 'link', 'set', 'bare', 'up');
    return netns.path;
  });
  return [near ?? '', far ?? ''];
}

async function serving(netns: string): Promise<ChildProcess> {
  const child = spawn('nsenter', [`--net=${netns}`, '/usr/bin/python3', '-c', SERVE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** What a program in Python prints in the client's namespace of a way. */
export async function atClient({ netns }: Way, program: string): Promise<string> {
  const child = spawn('nsenter', [`--net=${netns}`, '/usr/bin/python3', '-c', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) {
    throw new Error(`the client ended with ${code}`);
  }
  return said;
}

/** Until a way leads to its server. */
export function leads(way: Way): Promise<void> {
  return until(`a way to ${way.address}`, () =>
    atClient(way, `import socket; socket.create_connection(('${way.address}', ${DOOR_PORT}), 1)`).then(
      () => true,
      () => false,
    ),
  );
}
