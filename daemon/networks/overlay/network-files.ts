import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AssignedNetwork, NetworkEndpoint, NetworkService } from '../../../api/types/swarm/overlay.ts';
import { errorText } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { NetworkState } from './network-state.ts';
import { ALL_SERVE, type Serving } from './reach/reach.ts';
import type { DataPath } from './plan.ts';

/** A network of the swarm as the node keeps it over the daemon's end. */
interface StoredNetwork {
  dataPath: DataPath;
  network: AssignedNetwork;
  endpoints: NetworkEndpoint[];
  services: NetworkService[];
}

const SUFFIX = '.json';

/**
 * What the node knows of the swarm's networks, a file each: so that it keeps them when its daemon starts while no
 * manager answers. Changes that come while one is written, or soon after a large one, are written together; no file is
 * ever half written. What waits is a second of what managers told: they tell it again.
 */
export class NetworkFiles {
  readonly #directory: string;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #log: Logger;
  /** What is to be written; null = the file goes. */
  readonly #waiting = new Map<string, (() => StoredNetwork) | null>();
  /** Networks whose large file was just written. */
  readonly #resting = new Map<string, Disposable>();
  /** Who waits until all is written. */
  #flushing = 0;
  #writing: Promise<void> | undefined;

  constructor(deps: { directory: string; clock: Pick<Clock, 'setTimeout'>; log: Logger }) {
    this.#clock = deps.clock;
    this.#directory = deps.directory;
    this.#log = deps.log;
  }

  /** All that is there. A file that is no network is removed, with a line in the log. */
  async load(serving: Serving = ALL_SERVE): Promise<{ state: NetworkState; dataPath: DataPath }[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const loaded: { state: NetworkState; dataPath: DataPath }[] = [];
    for (const name of await readdir(this.#directory)) {
      const file = path.join(this.#directory, name);
      try {
        if (!name.endsWith(SUFFIX)) {
          // What a daemon that died was writing.
          await rm(file, { recursive: true });
          continue;
        }
        loaded.push(read(await readFile(file, 'utf8'), name.slice(0, -SUFFIX.length), serving));
      } catch (error) {
        this.#log.error(
          { file, err: errorText(error) },
          'a network of the swarm is left out and its file removed',
        );
        await this.#discard(file);
      }
    }
    return loaded;
  }

  /** Writes the network as it is when its turn comes. */
  save(state: NetworkState, dataPath: () => DataPath): void {
    this.#put(state.network.id, () => ({
      dataPath: dataPath(),
      network: state.network,
      endpoints: [...state.endpoints.values()],
      services: [...state.services.values()],
    }));
  }

  remove(id: string): void {
    this.#put(id, null);
  }

  /** Resolves when all that was handed over has been written, without rests. Never rejects. */
  async flush(): Promise<void> {
    this.#flushing += 1;
    while (this.#writing !== undefined || this.#waiting.size > 0) {
      this.#writing ??= this.#writeAll();
      await this.#writing;
    }
    this.#flushing -= 1;
    this.#resting.forEach((timer) => timer[Symbol.dispose]());
    this.#resting.clear();
  }

  #put(id: string, network: (() => StoredNetwork) | null): void {
    this.#waiting.set(id, network);
    this.#writing ??= this.#writeAll();
  }

  async #discard(file: string): Promise<void> {
    try {
      await rm(file, { recursive: true, force: true });
    } catch (error) {
      // It is left out again at the next start.
      this.#log.error({ file, err: errorText(error) }, 'the file could not be removed');
    }
  }

  async #writeAll(): Promise<void> {
    // So that changes that follow each other at once are one write.
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (;;) {
      const next = [...this.#waiting].find(([name, what]) => this.#isDue(name, what));
      if (next === undefined) {
        // In the same turn: what is put from here on begins anew.
        this.#writing = undefined;
        return;
      }
      const [id, network] = next;
      this.#waiting.delete(id);
      await this.#write(id, network);
    }
  }

  #isDue(id: string, network: (() => StoredNetwork) | null): boolean {
    return this.#flushing > 0 || network === null || !this.#resting.has(id);
  }

  /** So that a large network that changes all the time does not take a part of the processor. */
  #rest(id: string, bytes: number): void {
    const restMs = (bytes / limits.overlayFileBytesPerSecond) * 1000;
    this.#resting.get(id)?.[Symbol.dispose]();
    this.#resting.set(
      id,
      this.#clock.setTimeout(() => {
        this.#resting.delete(id);
        if (this.#waiting.has(id)) {
          this.#writing ??= this.#writeAll();
        }
      }, restMs),
    );
  }

  async #write(id: string, network: (() => StoredNetwork) | null): Promise<void> {
    const file = path.join(this.#directory, `${id}${SUFFIX}`);
    try {
      failpoint('network.overlay.file');
      if (network === null) {
        await rm(file, { force: true });
      } else {
        const text = JSON.stringify(network());
        this.#rest(id, text.length);
        await replace(file, text);
      }
    } catch (error) {
      // It is in force all the same; the managers tell of it after a restart.
      this.#log.error(
        { network: id, err: errorText(error) },
        'what is known of a network could not be written',
      );
    }
  }
}

async function replace(file: string, text: string): Promise<void> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  failpoint('network.overlay.rename');
  await rename(fresh, file);
}

function read(text: string, id: string, serving: Serving): { state: NetworkState; dataPath: DataPath } {
  // Written by `save`; each field that decides anything is looked at below.
  const stored = JSON.parse(text) as Partial<StoredNetwork> | null;
  const { network, dataPath, endpoints, services } = stored ?? {};
  const isWhole =
    network !== undefined &&
    network.id === id &&
    typeof network.name === 'string' &&
    typeof network.vni === 'number' &&
    Array.isArray(network.ipam.config) &&
    typeof dataPath?.addr === 'string' &&
    typeof dataPath.port === 'number' &&
    Array.isArray(endpoints) &&
    Array.isArray(services);
  if (!isWhole) {
    throw new Error('it is not a network');
  }
  const state = new NetworkState(network, serving);
  state.apply({ endpoints, services, removedEndpoints: [], removedServices: [] });
  return { state, dataPath };
}
