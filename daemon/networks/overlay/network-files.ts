import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AssignedNetwork, NetworkEndpoint, NetworkService } from '../../../api/types/swarm/overlay.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Logger } from '../../base/logger.ts';
import { NetworkState } from './network-state.ts';
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
 * manager answers. Changes that come while one is written are written together; no file is ever half written.
 */
export class NetworkFiles {
  readonly #directory: string;
  readonly #log: Logger;
  /** What is to be written; null = the file goes. */
  readonly #waiting = new Map<string, (() => StoredNetwork) | null>();
  #writing: Promise<void> | undefined;

  constructor(deps: { directory: string; log: Logger }) {
    this.#directory = deps.directory;
    this.#log = deps.log;
  }

  /** All that is there. A file that is no network is removed, with a line in the log. */
  async load(): Promise<{ state: NetworkState; dataPath: DataPath }[]> {
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
        loaded.push(read(await readFile(file, 'utf8'), name.slice(0, -SUFFIX.length)));
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

  /** Resolves when all that was handed over has been written. Never rejects. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) {
      await this.#writing;
    }
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
      const [next] = this.#waiting;
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

  async #write(id: string, network: (() => StoredNetwork) | null): Promise<void> {
    const file = path.join(this.#directory, `${id}${SUFFIX}`);
    try {
      failpoint('network.overlay.file');
      await (network === null ? rm(file, { force: true }) : replace(file, JSON.stringify(network())));
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

function read(text: string, id: string): { state: NetworkState; dataPath: DataPath } {
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
  const state = new NetworkState(network);
  state.apply({ endpoints, services, removedEndpoints: [], removedServices: [] });
  return { state, dataPath };
}
