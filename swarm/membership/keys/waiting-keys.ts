import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyedMutex } from '../../../daemon/base/concurrency/mutex.ts';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { decodeKeyring, encodeKeyring } from '../../ca/keys/key-file.ts';
import { Keyring, type DataKey } from '../../store/sealed.ts';

const FILE = 'data-keys';

/**
 * Data keys that are to seal the store's values once their managers are locked. They wait on the tmpfs of the exec
 * root: a daemon that is killed finds them again, and no disk has ever had them in clear.
 */
export class WaitingKeys {
  readonly #directory: string;
  readonly #mutex = new KeyedMutex();
  #keys: readonly DataKey[];

  constructor(directory: string) {
    this.#directory = directory;
    this.#keys = this.#read();
  }

  get all(): readonly DataKey[] {
    return this.#keys;
  }

  /** The newest ones are kept where they are too many. */
  async add(key: DataKey): Promise<void> {
    await this.#change((keys) =>
      keys.some(({ id }) => id === key.id) ? keys : [...keys, key].slice(-limits.swarmWaitingKeysMax),
    );
    failpoint('swarm.membership.key-kept');
  }

  /** Those up to `id` are waited for no more. */
  async drop(id: number): Promise<void> {
    if (this.#keys.some((key) => key.id <= id)) {
      await this.#change((keys) => keys.filter((key) => key.id > id));
    }
  }

  async #change(by: (keys: readonly DataKey[]) => readonly DataKey[]): Promise<void> {
    await this.#mutex.run('', async () => {
      const keys = by(this.#keys);
      const target = path.join(this.#directory, FILE);
      if (keys.length === 0) {
        await rm(target, { force: true });
      } else {
        await mkdir(this.#directory, { recursive: true, mode: 0o700 });
        await writeFile(`${target}.new`, encodeKeyring(new Keyring(keys)), { mode: 0o600 });
        await rename(`${target}.new`, target);
      }
      this.#keys = keys;
    });
  }

  #read(): readonly DataKey[] {
    try {
      return decodeKeyring(readFileSync(path.join(this.#directory, FILE))).keys;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return [];
      }
      throw error;
    }
  }
}
