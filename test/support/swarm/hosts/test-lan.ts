import { execFileSync } from 'node:child_process';
import type { DaemonNetwork } from '../../engine/netns.ts';

let lans = 0;

/** A switch in a network namespace of its own: hosts get a cable to it, `eth0`, and an address of 10.77.0.0/24. */
export class TestLan implements Disposable {
  readonly #name: string;
  #hosts = 0;

  constructor() {
    lans += 1;
    this.#name = `btl${process.pid}-${lans}`;
    ip('netns', 'add', this.#name);
    ip('-n', this.#name, 'link', 'add', 'switch', 'type', 'bridge');
    ip('-n', this.#name, 'link', 'set', 'switch', 'up');
  }

  /** Connects a host; answers its address. */
  attach({ name }: DaemonNetwork): string {
    this.#hosts += 1;
    const port = `port${this.#hosts}`;
    const addr = `10.77.0.${this.#hosts}`;
    ip('-n', this.#name, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('-n', this.#name, 'link', 'set', port, 'master', 'switch', 'up');
    ip('-n', name, 'addr', 'add', `${addr}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    return addr;
  }

  /** Pulls a host's cable, or puts it back: numbers count from 1 in the order of `attach`. */
  plug(host: number, state: 'in' | 'out'): void {
    ip('-n', this.#name, 'link', 'set', `port${host}`, state === 'in' ? 'up' : 'down');
  }

  [Symbol.dispose](): void {
    ip('netns', 'del', this.#name);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
