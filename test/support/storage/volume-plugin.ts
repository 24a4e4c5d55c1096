import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import path from 'node:path';

type Body = Record<string, unknown>;
/** Replaces the answer to one method: a JSON value, raw text, or a promise that may never resolve. */
export type Misbehaviour = (body: Body, honest: () => unknown) => unknown;

interface PluginVolume {
  options: Body;
  /** Ids it is mounted for. */
  ids: Set<string>;
}

/**
 * A volume plugin as the protocol has it (version 1): a small HTTP server on a Unix socket, which keeps volumes as
 * folders and counts mounts by id. It refuses what makes no sense (a volume that is not there, an unmount for an id
 * that has none), so that an engine that loses count is found out. It lives in the test: engines come and go.
 */
export class VolumePlugin implements AsyncDisposable {
  readonly socket: string;
  readonly folder: string;
  readonly volumes = new Map<string, PluginVolume>();
  /** `Mount data <id>`, in order. */
  readonly calls: string[] = [];
  /** What it refused. */
  readonly refusals: string[] = [];
  readonly misbehaviours = new Map<string, Misbehaviour>();
  scope = 'global';
  #server: Server | undefined;

  constructor(options: { socket: string; folder: string }) {
    this.socket = options.socket;
    this.folder = options.folder;
    mkdirSync(path.dirname(this.socket), { recursive: true });
    mkdirSync(this.folder, { recursive: true });
  }

  async up(): Promise<this> {
    rmSync(this.socket, { force: true });
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        const body: Body = text === '' ? {} : JSON.parse(text);
        void this.#answer((request.url ?? '').slice(1), body).then((content) => response.end(content));
      });
    });
    this.#server = server;
    await new Promise<void>((resolve) => void server.listen(this.socket, resolve));
    return this;
  }

  /** Takes no connections any more; what it knows stays. The socket's file too, as after a crash. */
  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    rmSync(this.socket, { force: true });
  }

  path(name: string): string {
    return path.join(this.folder, name);
  }

  files(name: string): string[] {
    return readdirSync(this.path(name)).toSorted();
  }

  /** Ids a volume is mounted for. */
  mounts(name: string): string[] {
    return [...(this.volumes.get(name)?.ids ?? [])].toSorted();
  }

  make(name: string, options: Body = {}): void {
    mkdirSync(this.path(name), { recursive: true });
    this.volumes.set(name, { options, ids: new Set() });
  }

  async #answer(method: string, body: Body): Promise<string> {
    const verb = method.replace('VolumeDriver.', '');
    const operands = [body['Name'], body['ID']].flatMap((each) => (typeof each === 'string' ? [each] : []));
    this.calls.push([verb, ...operands].join(' '));
    const honest = (): unknown => this.#honest(verb, body);
    try {
      const answer = await (this.misbehaviours.get(verb)?.(body, honest) ?? honest());
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    } catch (error) {
      const Err = error instanceof Error ? error.message : String(error);
      this.refusals.push(`${verb}: ${Err}`);
      return JSON.stringify({ Err });
    }
  }

  #honest(verb: string, body: Body): unknown {
    const name = String(body['Name']);
    const id = String(body['ID']);
    switch (verb) {
      case 'Plugin.Activate':
        return { Implements: ['VolumeDriver'] };
      case 'Capabilities':
        return { Capabilities: { Scope: this.scope } };
      case 'Create':
        this.make(name, (body['Opts'] as Body | undefined) ?? {});
        return { Err: '' };
      case 'List':
        return { Volumes: [...this.volumes.keys()].map((each) => this.#view(each)), Err: '' };
      case 'Get':
        this.#volume(name);
        return { Volume: { ...this.#view(name), Status: { held: this.mounts(name).length } }, Err: '' };
      case 'Path':
        this.#volume(name);
        return { Mountpoint: this.path(name), Err: '' };
      case 'Remove':
        if (this.#volume(name).ids.size > 0) {
          throw new Error(`volume ${name} is mounted`);
        }
        this.volumes.delete(name);
        rmSync(this.path(name), { recursive: true, force: true });
        return { Err: '' };
      case 'Mount':
        if (this.#volume(name).ids.has(id)) {
          throw new Error(`volume ${name} is mounted for ${id} already`);
        }
        this.#volume(name).ids.add(id);
        return { Mountpoint: this.path(name), Err: '' };
      case 'Unmount':
        if (!this.#volume(name).ids.delete(id)) {
          throw new Error(`volume ${name} is not mounted for ${id}`);
        }
        return { Err: '' };
      default:
        throw new Error(`no such method: ${verb}`);
    }
  }

  #view(name: string): Body {
    return { Name: name, Mountpoint: this.path(name), CreatedAt: '2020-02-02T02:02:02Z' };
  }

  #volume(name: string): PluginVolume {
    const volume = this.volumes.get(name);
    if (volume === undefined) {
      throw new Error(`no such volume: ${name}`);
    }
    return volume;
  }
}
