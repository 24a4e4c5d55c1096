import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import path from 'node:path';

/** Time in which a question certainly comes through to the other side. */
const THROUGH_MS = 200;

/** A unix socket before another one, which passes everything on but the answers that a test does not want to come. */
export class AnswerGate implements Disposable {
  readonly socket: string;
  readonly #directory: string;
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; server: Socket }>();
  #losing = false;

  private constructor(target: string) {
    this.#directory = mkdtempSync('/tmp/berth-test-gate-');
    this.socket = path.join(this.#directory, 'etcd:1');
    this.#server = createServer((client) => this.#pass(client, createConnection(target)));
  }

  static async open(target: string): Promise<AnswerGate> {
    const gate = new AnswerGate(target);
    await new Promise<void>((resolve) => {
      gate.#server.listen(gate.socket, resolve);
    });
    return gate;
  }

  /** From the next question on nothing comes back; then the connection is cut. */
  loseNextAnswer(): void {
    this.#losing = true;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.#cut();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #pass(client: Socket, server: Socket): void {
    const pair = { client, server };
    this.#pairs.add(pair);
    client.on('data', (chunk) => {
      server.write(chunk);
      if (this.#losing) {
        this.#losing = false;
        server.pause();
        server.removeAllListeners('data');
        setTimeout(() => this.#cut(), THROUGH_MS);
      }
    });
    server.on('data', (chunk) => client.write(chunk));
    const over = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const side of [client, server]) {
      side.on('error', over);
      side.on('close', over);
    }
  }

  #cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }
}
