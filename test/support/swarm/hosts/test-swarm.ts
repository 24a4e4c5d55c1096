import { execFile } from 'node:child_process';
import { expect } from 'vitest';
import type { SwarmInspect } from '../../../../api/types/swarm/swarm.ts';
import { TestDaemon, type TestDaemonOptions } from '../../engine/daemon.ts';
import { until } from '../../engine/http.ts';
import { TestLan, type Lan } from './test-lan.ts';

/** Against hangs: building an image of Debian packages takes a minute and more on a busy machine. */
const CLI_MS = 300_000;

export interface Said {
  code: number;
  out: string;
  err: string;
}

/** A daemon on the network of its swarm. */
export interface TestNode {
  readonly daemon: TestDaemon;
  readonly hostname: string;
  readonly addr: string;
}

/**
 * Hosts on one network, each a berthd with a busybox image, a network namespace and a host name of its own (`n1`,
 * `n2`, ...). None is in a swarm before `init` and `join`.
 */
export class TestSwarm implements AsyncDisposable {
  readonly lan: Lan;
  readonly nodes: TestNode[] = [];

  constructor(lan: Lan = new TestLan()) {
    this.lan = lan;
  }

  static async start(count: number, options: TestDaemonOptions = {}, lan?: Lan): Promise<TestSwarm> {
    const swarm = new TestSwarm(lan);
    try {
      for (let number = 1; number <= count; number += 1) {
        await swarm.add(options);
      }
      return swarm;
    } catch (error) {
      await swarm[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** One more host. */
  async add(options: TestDaemonOptions = {}): Promise<TestNode> {
    const hostname = `n${this.nodes.length + 1}`;
    const daemon = await TestDaemon.start({ ...options, hostname });
    const node = { daemon, hostname, addr: await this.lan.attach(daemon.netns) };
    this.nodes.push(node);
    await daemon.loadBusybox();
    return node;
  }

  /** The node by its number, from 1. */
  node(number: number): TestNode {
    const node = this.nodes[number - 1];
    if (node === undefined) {
      throw new Error(`there is no node ${number}`);
    }
    return node;
  }

  /** The first node begins a swarm; answers its id. */
  async init(...options: string[]): Promise<string> {
    await this.must(1, 'swarm', 'init', '--advertise-addr', this.node(1).addr, ...options);
    return await this.must(1, 'info', '--format', '{{.Swarm.NodeID}}');
  }

  /** `remote`: where the manager is called, if not at its address and port 2377. */
  async join(
    number: number,
    role: 'worker' | 'manager',
    through = 1,
    { remote, options = [] }: { remote?: string; options?: readonly string[] } = {},
  ): Promise<void> {
    const { JoinTokens } = await this.node(through).daemon.http.ok<SwarmInspect>('GET', '/swarm');
    const token = role === 'worker' ? JoinTokens.Worker : JoinTokens.Manager;
    const { addr } = this.node(number);
    const at = remote ?? `${inUrl(this.node(through).addr)}:2377`;
    const args = ['swarm', 'join', '--token', token, '--advertise-addr', addr, ...options, at];
    const { code, err } = await this.docker(number, ...args);
    // On a busy machine it may take longer than a client is kept waiting.
    if (err.includes('will continue in the background')) {
      const format = '{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}';
      await until(
        `n${number} to have joined`,
        async () => (await this.must(number, 'info', '--format', format)) === `active ${role === 'manager'}`,
      );
      return;
    }
    expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
  }

  /** The docker CLI against a node. */
  docker(number: number, ...args: string[]): Promise<Said> {
    return this.begin(number, ...args).said;
  }

  /** The docker CLI against a node, and what it has said so far. */
  begin(number: number, ...args: string[]): { said: Promise<Said>; out: () => string } {
    const { daemon } = this.node(number);
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: daemon.paths.root,
      DOCKER_HOST: `unix://${daemon.paths.socket}`,
      DOCKER_BUILDKIT: '0',
    };
    let soFar = '';
    const said = new Promise<Said>((resolve) => {
      const child = execFile('docker', args, { env, timeout: CLI_MS }, (error, out, err) => {
        resolve({ code: error === null ? 0 : (child.exitCode ?? 1), out, err });
      });
      child.stdout?.on('data', (text: string) => (soFar += text));
      child.stdin?.end();
    });
    return { said, out: () => soFar };
  }

  /** Succeeds or fails the test with what the CLI said; answers standard output without its last newline. */
  async must(number: number, ...args: string[]): Promise<string> {
    const { code, out, err } = await this.docker(number, ...args);
    expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
    return out.trimEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map(({ daemon }) => daemon[Symbol.asyncDispose]()));
    await this.lan[Symbol.asyncDispose]();
  }
}

/** An address as URLs have it. */
export function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
