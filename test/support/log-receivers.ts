import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import path from 'node:path';
import type { TestDaemon } from './engine/daemon.ts';
import { until } from './engine/http.ts';

/** A program that writes down what it receives, by kind, and answers HTTP with what collectors answer. */
const PROGRAM = `
const { appendFileSync, writeFileSync } = require('node:fs');
const folder = process.argv[1];
const note = (name) => (data) => appendFileSync(folder + '/' + name, data);
for (const [name, port] of [['syslog', 5140], ['gelf', 12201], ['fluentd', 24224]]) {
  const accept = (socket) => socket.on('data', note(name)).on('error', () => {});
  require('node:net').createServer(accept).listen(port, '127.0.0.1');
}
require('node:http').createServer((request, response) => {
  request.on('data', note(request.url.includes('services') ? 'splunk' : 'awslogs'));
  request.on('end', () => response.end('{}'));
}).listen(8088, '127.0.0.1', () => writeFileSync(folder + '/ready', ''));
`;

/** Receivers on the loopback interface of a daemon's network namespace. */
export class NetworkReceivers implements AsyncDisposable {
  readonly #folder: string;
  readonly #child: ReturnType<typeof spawn>;

  private constructor(folder: string, child: ReturnType<typeof spawn>) {
    this.#folder = folder;
    this.#child = child;
  }

  static async start(daemon: TestDaemon): Promise<NetworkReceivers> {
    const folder = path.join(daemon.paths.root, 'received');
    mkdirSync(folder, { recursive: true });
    const [file, ...args] = daemon.netns.enter(process.execPath, '-e', PROGRAM, folder);
    const receivers = new NetworkReceivers(folder, spawn(file, args, { stdio: 'ignore' }));
    await until('the receivers to listen', () => existsSync(path.join(folder, 'ready')));
    return receivers;
  }

  /** All that was sent to the receiver of this kind. */
  received(name: 'syslog' | 'gelf' | 'fluentd' | 'splunk' | 'awslogs'): string {
    const file = path.join(this.#folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await until(
      'the receivers to end',
      () => this.#child.exitCode !== null || this.#child.signalCode !== null,
    );
  }
}

/** A receiver of lines on a Unix socket, which a test takes away and brings back. */
export class LineReceiver implements AsyncDisposable {
  readonly path: string;
  /** Lines received. */
  count = 0;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #text = '';

  constructor(socketPath: string) {
    this.path = socketPath;
  }

  async up(): Promise<void> {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.setEncoding('latin1');
      socket.on('data', (text: string) => {
        this.#text += text;
        this.count += text.split('\n').length - 1;
      });
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => {
      this.#server?.listen(this.path, resolve);
    });
  }

  async down(): Promise<void> {
    this.#sockets.forEach((socket) => socket.destroy());
    await new Promise<void>((resolve) => {
      this.#server?.close(() => resolve());
    });
  }

  /** Contents of the lines: what follows the head of a syslog message. */
  lines(): string[] {
    return this.#text
      .split('\n')
      .slice(0, -1)
      .map((line) => line.replace(/^<.*?\]: /, ''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }
}
