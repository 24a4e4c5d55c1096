import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { DaemonNetwork } from '../support/engine/netns.ts';

const PROGRAM = path.join(import.meta.dirname, 'clients.py');
export const KINDS = ['page', 'vote', 'result'] as const;

/** A request that is over, as `clients.py` tells it. */
export interface Asked {
  /** When it began, in seconds since 1970. */
  at: number;
  /** The node that was asked, from 1. */
  node: number;
  kind: (typeof KINDS)[number];
  ms: number;
  /** Of a vote. */
  id: string | null;
  wrong: string | null;
}

/** Clients outside of the swarm that ask each node the whole time. */
export class Clients implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** What began before this time, in milliseconds since 1970, is over. */
  overBefore = 0;
  readonly #program: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<unknown>;

  constructor(outside: DaemonNetwork, addresses: readonly string[]) {
    const [file, ...args] = outside.enter('python3', PROGRAM, ...addresses);
    this.#program = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#ended = once(this.#program, 'close');
    createInterface(this.#program.stdout).on('line', (line) => {
      const said = JSON.parse(line) as Asked | { since: number };
      if ('since' in said) {
        this.overBefore = said.since * 1000;
      } else {
        this.asked.push(said);
      }
    });
  }

  /** No more requests; resolves when the last one is over. */
  async stop(): Promise<void> {
    this.#program.stdin.end();
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.kill('SIGKILL');
    await this.#ended;
  }
}
