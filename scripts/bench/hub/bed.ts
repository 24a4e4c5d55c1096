import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { TestDaemon } from '../../../test/support/engine/daemon.ts';
import { until } from '../../../test/support/engine/http.ts';
import { TestRegistry } from '../../../test/support/registry/registry.ts';
import { BlobFolder } from './blobs.ts';
import { manifestOf, push, type BlobFile, type Side } from './curl.ts';
import { RECEIVER_PORT, type Order, type Report } from './orders.ts';

const HUB_PORT = 5010;
const REGISTRY_PORT = 5020;
/** One caller does what many do elsewhere. */
const NO_LIMITS = Object.fromEntries(
  ['registry-user-per-minute', 'user-per-hour', 'points-per-minute', 'concurrent'].map((name) => [name, 0]),
);
/** As many as one event of a repository can have, and the events that a new tag is. */
const HOOKS = 20;
const EVENTS = ['push', 'create', 'registry_package', 'package'];
/** Deliveries that one new tag makes. */
export const DELIVERIES_OF_TAG = HOOKS * EVENTS.length;

/** berthd with a hub, Debian's docker-registry in the same network namespace, and what is pushed to both. */
export class HubBed implements AsyncDisposable {
  static #count = 0;
  readonly daemon: TestDaemon;
  /** Whose the repositories are: what an earlier bed has left is another one's. */
  readonly owner: string;
  readonly hub: Side;
  readonly registry: Side;
  readonly blobs = new BlobFolder();
  readonly #registryProcess: TestRegistry;
  #traffic: ChildProcess | undefined;

  static async open(daemon: TestDaemon): Promise<HubBed> {
    daemon.configure({
      'log-level': 'warn',
      hub: { address: `127.0.0.1:${HUB_PORT}`, limits: NO_LIMITS },
    });
    await daemon.restart({ gracefully: true });
    const { http } = daemon;
    HubBed.#count += 1;
    const owner = `bench${HubBed.#count}`;
    await http.ok('POST', '/hub/admin/users', { login: owner });
    const scopes = ['repo', 'write:packages', 'delete:packages'];
    const { token } = await http.ok<{ token: string }>('POST', `/hub/admin/users/${owner}/tokens`, {
      scopes,
    });
    const enter = (...argv: string[]): string[] => daemon.netns.enter(...argv);
    const registry = await TestRegistry.start({ port: REGISTRY_PORT, enter });
    const authorization = `Basic ${Buffer.from(`${owner}:${token}`).toString('base64')}`;
    return new HubBed({ daemon, owner }, registry, authorization);
  }

  private constructor(
    { daemon, owner }: Pick<HubBed, 'daemon' | 'owner'>,
    registry: TestRegistry,
    authorization: string,
  ) {
    const enter = (...argv: string[]): string[] => daemon.netns.enter(...argv);
    this.daemon = daemon;
    this.owner = owner;
    this.#registryProcess = registry;
    this.hub = { base: `http://127.0.0.1:${HUB_PORT}`, authorization, enter };
    this.registry = { base: `http://${registry.address}`, authorization: '', enter };
  }

  /** Takes a repository of the hub away, with what it has. */
  async forget(name: string): Promise<void> {
    await this.daemon.http.ok('DELETE', `/hub/repos/${name}`);
  }

  /** A repository with hooks to a receiver, and an image in it. Answers how tags of it are put. */
  async listen(name: string): Promise<Omit<Extract<Order, { kind: 'put' }>, 'tags' | 'everyMs'>> {
    const image: BlobFile[] = this.blobs.image(1, 64);
    await push(this.hub, name, image);
    await this.#startTraffic();
    const { received } = await this.report();
    for (let hook = 0; hook < HOOKS; hook += 1) {
      await this.daemon.http.ok('POST', `/hub/repos/${name}/hooks`, {
        name: 'web',
        active: true,
        events: EVENTS,
        config: {
          url: `http://127.0.0.1:${RECEIVER_PORT}/${hook}`,
          content_type: 'json',
          secret: 'a secret of a hook',
        },
      });
    }
    // Of each a ping.
    await this.received(received + HOOKS);
    const { base, authorization } = this.hub;
    return { kind: 'put', url: `${base}/v2/${name}`, authorization, manifest: manifestOf(image) };
  }

  put(order: Extract<Order, { kind: 'put' }>): void {
    this.#traffic?.send(order);
  }

  report(): Promise<Report> {
    return this.#ask({ kind: 'count' });
  }

  /** Resolves when no tag is being put any more. */
  stop(): Promise<Report> {
    return this.#ask({ kind: 'stop' });
  }

  /** One at a time: answers do not say what they answer. Rejects where the process has ended. */
  async #ask(order: Exclude<Order, { kind: 'put' }>): Promise<Report> {
    const traffic = this.#traffic;
    if (traffic?.connected !== true) {
      throw new Error('nobody listens');
    }
    return await new Promise((resolve, reject) => {
      const over = (): void => reject(new Error(`the process that listens ended at ${order.kind}`));
      traffic.once('disconnect', over);
      traffic.once('message', (report) => {
        traffic.off('disconnect', over);
        // As orders.ts says.
        resolve(report as Report);
      });
      traffic.send(order);
    });
  }

  /** Resolves when so many deliveries have come since the start. */
  async received(count: number): Promise<void> {
    await until(`${count} deliveries`, async () => (await this.report()).received >= count, 120_000);
  }

  async #startTraffic(): Promise<void> {
    if (this.#traffic !== undefined) {
      return;
    }
    const script = path.join(import.meta.dirname, 'traffic.ts');
    const node = [process.execPath, '--import', import.meta.resolve('tsx'), script];
    const [file = '', ...args] = this.hub.enter(...node);
    this.#traffic = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    await once(this.#traffic, 'message');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#traffic?.kill('SIGKILL');
    this.blobs[Symbol.dispose]();
    await this.#registryProcess[Symbol.asyncDispose]();
    this.daemon.configure({ 'log-level': 'warn' });
    await this.daemon.restart({ gracefully: true });
  }
}
