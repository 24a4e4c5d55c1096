import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ContainerSummary } from '../../../api/types/container.ts';
import type { NodeInspect } from '../../../api/types/swarm/node.ts';
import type { SwarmInspect } from '../../../api/types/swarm/swarm.ts';
import { until } from '../../support/engine/http.ts';
import { TestLan, type Wiring } from '../../support/swarm/hosts/test-lan.ts';
import { inUrl, TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { soon } from './host-swarm.ts';

const run = promisify(execFile);

const PROGRAM = path.join(import.meta.dirname, 'underlay.py');
/** What every page of a task contains, so that it can be looked for on the cable. */
export const TEXT = 'nobody-else-is-to-read-this';
export const PORT = 8000;
/** A page that takes many packets of full size. */
export const PAGE_BYTES = 200_000;
const PAGE = `mkdir -p /www; while :; do echo ${TEXT}; done | head -c ${PAGE_BYTES} >/www/index.html
exec httpd -f -p ${PORT} -h /www`;

/** Asks in turn, each time by a new connection; prints each failure, and at SIGTERM how many did not fail. */
const LOAD = `import signal, socket, sys, time
good = 0
def end(*_):
    print(good, flush=True); sys.exit()
signal.signal(signal.SIGTERM, end)
print('ready', flush=True)
while True:
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[2])), 60) as s:
            s.sendall(b'GET /none HTTP/1.0\\r\\n\\r\\n')
            answer = s.recv(100)
        if b' 404 ' not in answer: print('failed', answer, flush=True)
        good += 1
    except OSError as error: print('failed', error, flush=True)
    time.sleep(0.05)`;

/** `secret` is encrypted, `open` is not; there is a task of one service in both of them on each node. */
export type NetworkName = 'secret' | 'open';

/** A task of the service. */
export interface End {
  node: number;
  pid: number;
  address: Readonly<Record<NetworkName, string>>;
  mac: Readonly<Record<NetworkName, string>>;
}

/** A program that prints lines until it is ended. */
export interface Lines {
  readonly lines: readonly string[];
  /** Resolves with all that it has printed. */
  end(signal?: NodeJS.Signals): Promise<readonly string[]>;
}

/** A swarm of two daemons on one cable, with an encrypted network and another one. */
export class EncryptedPair implements AsyncDisposable {
  readonly swarm: TestSwarm;
  readonly #children: ChildProcess[] = [];
  ends: readonly End[] = [];
  vip: Readonly<Record<NetworkName, string>> = { secret: '', open: '' };
  vni: Readonly<Record<NetworkName, string>> = { secret: '', open: '' };

  private constructor(swarm: TestSwarm) {
    this.swarm = swarm;
  }

  static async start(addresses: Wiring['addresses']): Promise<EncryptedPair> {
    const lan = new TestLan({ link: 'eth0', addresses });
    const pair = new EncryptedPair(await TestSwarm.start(2, { config: { 'log-level': 'info' } }, lan));
    try {
      await pair.#begin();
      await pair.#serve();
      return pair;
    } catch (error) {
      console.error(pair.swarm.nodes.map(({ daemon }) => daemon.log().slice(-4000)).join('\n---\n'));
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  end(node: 1 | 2): End {
    const end = this.ends[node - 1];
    if (end === undefined) {
      throw new Error(`no task runs on node ${node}`);
    }
    return end;
  }

  /** A page of the service's, as a program in a task's network gets it; throws when it does not come whole. */
  async page({ pid }: End, address: string): Promise<void> {
    const curl = ['curl', '--silent', '--show-error', '--fail', '--max-time', '60', '--noproxy', '*'];
    const argv = [`--target=${pid}`, '--net', '--', ...curl, `http://${address}:${PORT}/`];
    const { stdout } = await run('nsenter', argv);
    if (stdout.length !== PAGE_BYTES || !stdout.startsWith(TEXT)) {
      throw new Error(`${stdout.length} bytes came, and not the page`);
    }
  }

  /** What passes a node's cable from now on: see `underlay.py`. */
  watch(node: 1 | 2): Promise<Lines> {
    return this.#lines(this.swarm.node(node).daemon.netns.enter('python3', PROGRAM, 'watch', 'eth0', TEXT));
  }

  /** Asks for small answers until it is told to end: see `LOAD`. */
  load({ pid }: End, address: string): Promise<Lines> {
    const argv = ['python3', '-c', LOAD, address, String(PORT)];
    return this.#lines(['nsenter', `--target=${pid}`, '--net', '--', ...argv]);
  }

  /** Datagrams that come to a task from now on. */
  hear({ pid }: End): Promise<Lines> {
    return this.#lines(['nsenter', `--target=${pid}`, '--net', '--', 'python3', PROGRAM, 'hear']);
  }

  /** A datagram from task to task as programs send it. */
  async say(from: End, to: End, network: NetworkName, text: string): Promise<void> {
    const say = ['python3', PROGRAM, 'say', to.address[network], text];
    await run('nsenter', [`--target=${from.pid}`, '--net', '--', ...say]);
  }

  /** The same, unencrypted and from the address of the sender's host, put on the cable there. */
  async forge(from: End, to: End, network: NetworkName, text: string): Promise<void> {
    const outer = await Promise.all([this.#onCable(from.node), this.#onCable(to.node)]);
    const inner = [from, to].map(({ mac, address }) => `${mac[network]},${address[network]}`);
    const words = ['forge', 'eth0', this.vni[network], outer.join(), inner.join(), text];
    await this.swarm.node(from.node).daemon.netns.run('python3', PROGRAM, ...words);
  }

  /** Numbers of the keys that a node's kernel sends with (`out`) or takes (`in`), in order. */
  async keys(node: 1 | 2): Promise<{ out: string[]; in: string[] }> {
    const { daemon, addr } = this.swarm.node(node);
    const states = await daemon.netns.run('ip', 'xfrm', 'state');
    const found = [...states.matchAll(/^src (\S+) dst \S+\n\tproto esp spi 0x(\w+) /gm)];
    const spis = (isOut: boolean): string[] =>
      found.flatMap(([, from, spi = '']) => ((from === addr) === isOut ? [spi] : [])).toSorted();
    return { out: spis(true), in: spis(false) };
  }

  /** Resolves when it has printed its first line, which tells no more than that. */
  async #lines([file, ...args]: [string, ...string[]]): Promise<Lines> {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    const closed = once(child, 'close');
    const printed = (): string[] => output.split('\n').slice(1, -1);
    await until(`${args.at(-1)} to begin`, () => output.includes('\n'));
    return {
      get lines() {
        return printed();
      },
      end: async (signal) => {
        child.kill(signal);
        await closed;
        return printed();
      },
    };
  }

  async #onCable(number: number): Promise<string> {
    const { daemon, addr } = this.swarm.node(number);
    const shown = await daemon.netns.run('ip', '-j', 'link', 'show', 'eth0');
    const [link] = JSON.parse(shown) as { address: string }[];
    return `${link?.address},${addr}`;
  }

  async #begin(): Promise<void> {
    const [first, second] = [this.swarm.node(1), this.swarm.node(2)];
    const ListenAddr = '0.0.0.0:2377';
    await soon('a swarm to begin', async () => {
      const body = { ListenAddr, AdvertiseAddr: first.addr };
      const { status, text } = await first.daemon.http.request('POST', '/swarm/init', { body });
      if (status !== 200 && !text.includes('is being prepared')) {
        throw new Error(text);
      }
      return status === 200;
    });
    const { JoinTokens } = await first.daemon.http.ok<SwarmInspect>('GET', '/swarm');
    const { status, text } = await second.daemon.http.request('POST', '/swarm/join', {
      body: {
        ListenAddr,
        AdvertiseAddr: second.addr,
        RemoteAddrs: [`${inUrl(first.addr)}:2377`],
        JoinToken: JoinTokens.Worker,
      },
    });
    // Where an emulated node takes longer than a client waits for, it goes on joining.
    if (status !== 200 && !text.includes('will continue in the background')) {
      throw new Error(text);
    }
    await soon('two nodes', async () => {
      const nodes = await first.daemon.http.ok<NodeInspect[]>('GET', '/nodes');
      return nodes.length === 2 && nodes.every(({ Status }) => Status?.State === 'ready');
    });
  }

  async #serve(): Promise<void> {
    const { http } = this.swarm.node(1).daemon;
    const networks = { secret: { encrypted: '' }, open: {} };
    for (const [Name, Options] of Object.entries(networks)) {
      await http.ok('POST', '/networks/create', { Name, Driver: 'overlay', Options });
    }
    await http.ok('POST', '/services/create', {
      Name: 'web',
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox:latest', Command: ['sh', '-c', PAGE] },
        Networks: [{ Target: 'secret' }, { Target: 'open' }],
      },
      Mode: { Global: {} },
    });
    const found: End[] = [];
    for (const node of [1, 2] as const) {
      found.push(await this.#task(node));
    }
    this.ends = found;
    const { Endpoint } = await http.ok<{ Endpoint: { VirtualIPs: { NetworkID: string; Addr: string }[] } }>(
      'GET',
      '/services/web',
    );
    const inspected = {
      secret: await http.ok<InspectedNetwork>('GET', '/networks/secret'),
      open: await http.ok<InspectedNetwork>('GET', '/networks/open'),
    };
    const vip = ({ Id }: InspectedNetwork): string =>
      Endpoint.VirtualIPs.find(({ NetworkID }) => NetworkID === Id)?.Addr.split('/')[0] ?? 'none';
    this.vip = { secret: vip(inspected.secret), open: vip(inspected.open) };
    this.vni = { secret: vniOf(inspected.secret), open: vniOf(inspected.open) };
  }

  /** The service's task on a node, once it runs. */
  async #task(node: 1 | 2): Promise<End> {
    const { http } = this.swarm.node(node).daemon;
    const filters = encodeURIComponent('{"label":["com.docker.swarm.service.name=web"]}');
    let id = '';
    await soon(`the task on node ${node}`, async () => {
      const [found] = await http.ok<ContainerSummary[]>('GET', `/containers/json?filters=${filters}`);
      id = found?.Id ?? '';
      return id !== '';
    });
    const { State, NetworkSettings } = await http.ok<InspectedContainer>('GET', `/containers/${id}/json`);
    const { secret, open } = NetworkSettings.Networks;
    return {
      node,
      pid: State.Pid,
      address: { secret: secret.IPAddress, open: open.IPAddress },
      mac: { secret: secret.MacAddress, open: open.MacAddress },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      child.kill('SIGKILL');
    }
    await this.swarm[Symbol.asyncDispose]();
  }
}

interface InspectedNetwork {
  Id: string;
  Options: Record<string, string>;
}

interface InspectedContainer {
  State: { Pid: number };
  NetworkSettings: { Networks: Record<NetworkName, { IPAddress: string; MacAddress: string }> };
}

function vniOf({ Options }: InspectedNetwork): string {
  return Options['com.docker.network.driver.overlay.vxlanid_list'] ?? 'none';
}
