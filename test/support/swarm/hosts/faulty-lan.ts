import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { DaemonNetwork } from '../../engine/netns.ts';
import { Cables, type Lan } from './test-lan.ts';

const PROGRAM = path.join(import.meta.dirname, 'faulty-switch.py');

/** What happens to frames; what is not named stays as it was. */
export interface Faults {
  /** Shares of all frames, 0 to 1. */
  loss?: number;
  double?: number;
  /** Seconds, for each frame. */
  delay?: number;
  /** Pairs of hosts, by number: the second one hears nothing of the first. */
  cut?: readonly (readonly [from: number, to: number])[];
}

/** A switch that does to frames what it is told. */
export class FaultyLan implements Lan {
  readonly #cables = new Cables();
  readonly #program: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: Interface;

  constructor(seed: string) {
    this.#program = spawn('ip', ['netns', 'exec', this.#cables.name, 'python3', PROGRAM, seed], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#answers = createInterface(this.#program.stdout);
  }

  async attach(host: DaemonNetwork): Promise<string> {
    const { addr } = this.#cables.lay(host);
    execFileSync('ip', ['netns', 'exec', host.name, 'python3', PROGRAM, 'plain', 'eth0']);
    await this.#tell({ ports: this.#cables.count });
    return addr;
  }

  plug(host: number, state: 'in' | 'out'): void {
    this.#cables.plug(host, state);
  }

  /** In force when it resolves. */
  set(faults: Faults): Promise<void> {
    return this.#tell(faults);
  }

  /** Everything passes again, once and at once. */
  heal(): Promise<void> {
    return this.#tell({ loss: 0, double: 0, delay: 0, cut: [] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#program, 'close');
    this.#program.stdin.end();
    await ended;
    this.#cables[Symbol.dispose]();
  }

  async #tell(change: object): Promise<void> {
    const told = once(this.#answers, 'line');
    this.#program.stdin.write(`${JSON.stringify(change)}\n`);
    await told;
  }
}
