import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { PAGE_PORT, soon, TASKS } from './host-swarm.ts';

const run = promisify(execFile);

/** The guest's own programs, read-only in a task: busybox has no server that answers without a new process. */
const PROGRAMS = ['/usr', '/lib', '/lib64'];
const SERVE = `import socket
l = socket.create_server(('', 80), backlog=512)
while True:
    c, _ = l.accept()
    try:
        if c.recv(1000): c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\nok')
    except ConnectionError: pass
    c.close()`;

/** Seconds of a connection, a request and its answer. */
const REQUEST = `def call(host, port):
    begin = time.perf_counter()
    s = socket.create_connection((host, port), 60)
    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    got = b''
    while part := s.recv(4096): got += part
    assert got.endswith(b'ok'), got
    s.close()
    return time.perf_counter() - begin`;

/** Seconds that a connection took to be made. It is cut off, so that no port waits for its next use. */
const CONNECT = `def call(host, port):
    s = socket.socket(); s.settimeout(60); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    begin = time.perf_counter(); s.connect((host, port)); took = time.perf_counter() - begin
    s.close()
    return took`;

export const LOADS = { requests: REQUEST, connections: CONNECT } as const;

/** Prints a line of milliseconds for each round: those of so many calls to each of the hosts, in turns. */
const IN_TURNS = `rounds, calls, port, *hosts = sys.argv[1:]
for _ in range(int(rounds)):
    print(*[sum(call(host, int(port)) for _ in range(int(calls))) * 1000 for host in hosts])`;

/**
 * Milliseconds that calls to these addresses took, as a client outside of the hosts sees them: for each round one
 * number for each address. One client asks them right after each other: what stops the machine stops both.
 */
export async function inTurns(
  load: keyof typeof LOADS,
  addresses: readonly string[],
  { rounds, calls }: { rounds: number; calls: number },
): Promise<number[][]> {
  const program = `import socket, struct, sys, time\n${LOADS[load]}\n${IN_TURNS}`;
  const numbers = [rounds, calls, PAGE_PORT].map(String);
  const { stdout } = await run('python3', ['-c', program, ...numbers, ...addresses]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
}

/** A swarm of one of either engine, on a host of its own, with a port that leads to two tasks. */
export class MeshSide implements AsyncDisposable {
  readonly daemon: TestDaemon;
  readonly address: string;

  private constructor(daemon: TestDaemon, address: string) {
    this.daemon = daemon;
    this.address = address;
  }

  /** `uplink` N: the host's address is 10.N.0.2. */
  static async start(engine: 'berthd' | 'dockerd', uplink: number): Promise<MeshSide> {
    // New namespaces have it from the machine's own, and dockerd counts on that: IPVS forwards answers.
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
    const side = new MeshSide(await TestDaemon.start({ engine, uplink }), `10.${uplink}.0.2`);
    try {
      await side.daemon.loadBusybox();
      await side.#begin();
      await side.#serve();
      return side;
    } catch (error) {
      console.error(side.daemon.log().slice(-4000));
      await side[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A swarm that takes longer than a client waits for is asked for again: see HostSwarm. */
  #begin(): Promise<void> {
    const body = { ListenAddr: '0.0.0.0:2377', AdvertiseAddr: this.address };
    return soon('a swarm to begin', async () => {
      const { status, text } = await this.daemon.http.request('POST', '/swarm/init', { body });
      if (status !== 200 && !text.includes('is being prepared')) {
        throw new Error(text);
      }
      return status === 200;
    });
  }

  async #serve(): Promise<void> {
    const { http } = this.daemon;
    await http.ok('POST', '/services/create', {
      Name: 'web',
      TaskTemplate: {
        ContainerSpec: {
          Image: 'busybox:latest',
          Command: ['/usr/bin/python3', '-c', SERVE],
          Mounts: PROGRAMS.map((path) => ({ Type: 'bind', Source: path, Target: path, ReadOnly: true })),
        },
      },
      Mode: { Replicated: { Replicas: TASKS } },
      EndpointSpec: { Ports: [{ Protocol: 'tcp', TargetPort: 80, PublishedPort: PAGE_PORT }] },
    });
    const filters = encodeURIComponent('{"desired-state":["running"]}');
    await soon(`${TASKS} tasks`, async () => {
      const tasks = await http.ok<{ Status: { State: string } }[]>('GET', `/tasks?filters=${filters}`);
      return tasks.filter(({ Status }) => Status.State === 'running').length === TASKS;
    });
    // In turn: as many answers as there are tasks come from all of them.
    await soon('the port to answer', () =>
      inTurns('requests', [this.address], { rounds: 1, calls: 2 * TASKS }).then(
        () => true,
        () => false,
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.daemon.isRunning()) {
      await this.daemon.http.request('POST', '/swarm/leave?force=1');
    }
    await this.daemon[Symbol.asyncDispose]();
  }
}
