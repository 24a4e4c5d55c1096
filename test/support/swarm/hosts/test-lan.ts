import { execFileSync } from 'node:child_process';
import type { DaemonNetwork } from '../../engine/netns.ts';

let lans = 0;

/** How hosts are on a switch: by a cable of this name, with addresses of one family that begin so. */
export interface Wiring {
  link: string;
  addresses: '10.77.0.' | '10.88.0.' | 'fd77::';
  /** What frames hold at most, in bytes; without it 1500. */
  mtu?: number;
}

/** What connects the hosts of a swarm: each gets a cable, and an address: see `Wiring`. Without it of 10.77.0.0/24. */
export interface Lan extends AsyncDisposable {
  /** Connects a host; answers its address. */
  attach(host: DaemonNetwork): Promise<string>;
  /** Pulls a host's cable, or puts it back: numbers count from 1 in the order of `attach`. */
  plug(host: number, state: 'in' | 'out'): void;
}

/** A network namespace with the ends of the hosts' cables: `port1`, `port2`, ... */
export class Cables implements Disposable {
  readonly name: string;
  readonly #wiring: Wiring;
  count = 0;

  constructor(wiring: Wiring = { link: 'eth0', addresses: '10.77.0.' }) {
    this.#wiring = wiring;
    lans += 1;
    this.name = `btl${process.pid}-${lans}`;
    ip('netns', 'add', this.name);
  }

  /** One more; answers the host's address. */
  lay({ name }: DaemonNetwork): { port: string; addr: string } {
    this.count += 1;
    const port = `port${this.count}`;
    const { link, addresses, mtu = 1500 } = this.#wiring;
    const addr = `${addresses}${this.count}`;
    const frames = ['mtu', String(mtu)];
    this.ip('link', 'add', port, ...frames, 'type', 'veth', 'peer', 'name', link, ...frames, 'netns', name);
    this.ip('link', 'set', port, 'up');
    const subnet = addresses === 'fd77::' ? [`${addr}/64`, 'nodad'] : [`${addr}/24`];
    ip('-n', name, 'addr', 'add', ...subnet, 'dev', link);
    ip('-n', name, 'link', 'set', link, 'up');
    return { port, addr };
  }

  plug(host: number, state: 'in' | 'out'): void {
    this.ip('link', 'set', `port${host}`, state === 'in' ? 'up' : 'down');
  }

  ip(...args: string[]): void {
    ip('-n', this.name, ...args);
  }

  [Symbol.dispose](): void {
    ip('netns', 'del', this.name);
  }
}

/** A switch of the kernel, which loses nothing. */
export class TestLan implements Lan {
  readonly #cables: Cables;

  constructor(wiring?: Wiring) {
    this.#cables = new Cables(wiring);
    this.#cables.ip('link', 'add', 'switch', 'type', 'bridge');
    this.#cables.ip('link', 'set', 'switch', 'up');
  }

  async attach(host: DaemonNetwork): Promise<string> {
    const { port, addr } = this.#cables.lay(host);
    this.#cables.ip('link', 'set', port, 'master', 'switch');
    return addr;
  }

  plug(host: number, state: 'in' | 'out'): void {
    this.#cables.plug(host, state);
  }

  /** Nothing passes between these hosts in either direction from now on; with no pairs everything does again. */
  part(pairs: readonly (readonly [number, number])[]): void {
    const drops = pairs
      .flatMap(([one, other]) => [
        [one, other],
        [other, one],
      ])
      .map(([from, to]) => `iifname "port${from}" oifname "port${to}" drop`);
    const chain = `type filter hook forward priority 0\n${drops.join('\n')}`;
    const table = 'table bridge parted';
    const input = `${table}\nflush ${table}\n${table} {\nchain forward {\n${chain}\n}\n}\n`;
    execFileSync('ip', ['netns', 'exec', this.#cables.name, 'nft', '-f', '-'], { input });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cables[Symbol.dispose]();
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
