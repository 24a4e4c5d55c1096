import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';
import type { TestDaemon } from '../engine/daemon.ts';
import { TestRegistry, type RegistryOptions } from '../registry/registry.ts';
import { ControlClient, type AskedOutput } from './control-client.ts';
import { SessionServer, type ListedFile } from './session-server.ts';

interface BedOptions {
  /** One beside the daemon, at 127.0.0.1:5000. */
  registry?: Pick<RegistryOptions, 'password'>;
}

let opened = 0;

/** What tests build with: a client's session, and a registry where one is asked for. */
export class BuildBed implements AsyncDisposable {
  readonly server: SessionServer;
  readonly #daemon: TestDaemon;
  readonly #registry: TestRegistry | undefined;

  private constructor(daemon: TestDaemon, registry: TestRegistry | undefined) {
    opened += 1;
    const folder = `${daemon.paths.root}/client-${opened}`;
    mkdirSync(folder);
    this.server = new SessionServer(folder);
    this.#daemon = daemon;
    this.#registry = registry;
  }

  static async open(daemon: TestDaemon, { registry }: BedOptions = {}): Promise<BuildBed> {
    const enter = (...argv: string[]): string[] => daemon.netns.enter(...argv);
    return new BuildBed(daemon, registry && (await TestRegistry.start({ ...registry, port: 5000, enter })));
  }

  /** The Dockerfile of the next builds, which is all of their context. */
  write(lines: readonly string[], stat: ListedFile['stat'] = {}): void {
    const content = Buffer.from(lines.join('\n'));
    const path = Buffer.from('Dockerfile');
    this.server.list = [{ stat: { path, mode: 0o644, size: content.length, ...stat }, content }];
  }

  /** Builds what is written, by a connection of its own: the daemon may have been killed. */
  async build(
    outputs: readonly AskedOutput[],
    options: Record<string, string> = {},
  ): Promise<ReadonlyMap<string, string>> {
    using client = new ControlClient(this.#daemon.paths.socket);
    return await client.build(this.server, outputs, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#registry?.[Symbol.asyncDispose]();
  }
}

/** One for all tests of a file, or of a `describe`. */
export function useBuildBed(daemon: () => TestDaemon, options: BedOptions = {}): () => BuildBed {
  let bed: BuildBed | undefined;
  beforeAll(async () => {
    bed = await BuildBed.open(daemon(), options);
  });
  afterAll(async () => {
    await bed?.[Symbol.asyncDispose]();
  });
  return () => {
    if (bed === undefined) {
      throw new Error('there is a bed only inside tests');
    }
    return bed;
  };
}
