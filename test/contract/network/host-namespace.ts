import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { declare } from '../../../daemon/base/kernel/libc.ts';
import { NamespaceDirectory } from '../../../runtime/network/namespace-directory.ts';
import { pause } from '../../support/engine/cleanup.ts';
import { processLink } from '../../support/process.ts';

const unshare = declare('int unshare(int flags)');
const CLONE_NEWNET = 0x40000000;

/**
 * A throw-away host: this very process moves into a network namespace of its own (so node:net of the test speaks from
 * "the host"), with a LAN on which one neighbour lives.
 */
export class ThrowAwayHost {
  readonly directory = mkdtempSync(path.join(os.tmpdir(), 'berth-net-'));
  readonly lanAddress = '192.0.2.1';
  readonly #neighbours = new NamespaceDirectory(path.join(this.directory, 'neighbours'));
  readonly #children: ChildProcess[] = [];

  constructor() {
    unshare('network namespace', CLONE_NEWNET);
    command('ip', 'link', 'set', 'lo', 'up');
    this.#neighbours.create('n').close();
    command('ip', 'link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', 'lan1');
    command('nsenter', `--net=${this.neighbour}`, 'ip', 'link', 'set', 'lo', 'up');
    // iproute2 moves by pid or by name; a process inside lends its pid.
    const inside = spawn('nsenter', [`--net=${this.neighbour}`, 'sleep', '600'], { stdio: 'ignore' });
    this.#children.push(inside);
    const own = processLink(process.pid, 'ns/net');
    while ([own, ''].includes(processLink(inside.pid ?? 0, 'ns/net'))) {
      pause(5);
    }
    command('ip', 'link', 'set', 'lan1', 'netns', String(inside.pid));
    command('ip', 'address', 'add', `${this.lanAddress}/24`, 'dev', 'lan0');
    command('ip', 'link', 'set', 'lan0', 'up');
    command('nsenter', `--net=${this.neighbour}`, 'ip', 'address', 'add', '192.0.2.2/24', 'dev', 'lan1');
    command('nsenter', `--net=${this.neighbour}`, 'ip', 'link', 'set', 'lan1', 'up');
  }

  get neighbour(): string {
    return this.#neighbours.path('n');
  }

  /** The worst neighbour: it routes the containers' subnet, and 127.0.0.0/8, through us. */
  routeFromNeighbour(subnet: string): void {
    command('nsenter', `--net=${this.neighbour}`, 'ip', 'route', 'replace', subnet, 'via', this.lanAddress);
  }

  /** Answers TCP connections and UDP datagrams with `tag` and the client's address. */
  async serve(netnsPath: string, port: number, tag: string): Promise<ChildProcess> {
    const child = spawn(
      'nsenter',
      [`--net=${netnsPath}`, process.execPath, fixture('serve.mjs'), String(port), tag],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  /** `ok:<answer>`, `refused`, `timeout`, ...; from this host when `netnsPath` is null. */
  ask(netnsPath: string | null, protocol: 'tcp' | 'udp', address: string, port: number): string {
    const probe = [process.execPath, fixture('probe.mjs'), protocol, address, String(port)];
    return netnsPath === null ? command(...probe) : command('nsenter', `--net=${netnsPath}`, ...probe);
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) {
      child.kill('SIGKILL');
    }
    this.#neighbours.remove('n');
    const sandboxes = new NamespaceDirectory(path.join(this.directory, 'netns'));
    for (const id of sandboxes.list()) {
      sandboxes.remove(id);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Output of a command, which must succeed. */
export function command(...argv: string[]): string {
  const [file = '', ...args] = argv;
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  if (status !== 0) {
    throw new Error(`${argv.join(' ')}: ${stderr}`);
  }
  return stdout.trim();
}

function fixture(name: string): string {
  return path.join(import.meta.dirname, 'fixtures', name);
}
