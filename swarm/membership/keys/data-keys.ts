import type { Clock } from '../../../daemon/base/clock.ts';
import { KeyedMutex } from '../../../daemon/base/concurrency/mutex.ts';
import { EngineError, errorText, invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { decodeKeyring } from '../../ca/keys/key-file.ts';
import { keyChanged, type Cluster } from '../../cluster/cluster.ts';
import { OLDEST_DATA_KEY, sealedKey } from '../../objects/values.ts';
import type { ManagerAddress } from '../../protocol/session.ts';
import type { Dial } from '../../rpc/port.ts';
import { newDataKey, type DataKey, type Keyring } from '../../store/sealed.ts';
import type { Entry } from '../../store/port.ts';
import type { NodeCertificates } from '../certificates.ts';
import { repeatWhile } from '../manager/repeat.ts';
import { oldestKept, opens, sealedBefore, wantedKey } from './standing.ts';
import type { WaitingKeys } from './waiting-keys.ts';

const SWEEP_MS = 30_000;
const FOLLOWED: ReadonlySet<string> = new Set([sealedKey.unlockKey(), OLDEST_DATA_KEY]);

interface Deps {
  clock: Clock;
  logger: Logger;
  cluster: Cluster;
  certificates: Pick<NodeCertificates, 'keys' | 'unlockKey' | 'change'>;
  waiting: WaitingKeys;
  dial: Dial;
  /** This manager. */
  node: string;
  managers: () => readonly ManagerAddress[];
  /** Takes what is not in the store any more out of the own member's file. */
  purge: () => Promise<void>;
}

/**
 * This manager's keys of the store: those that it has are on its disk, sealed with the unlock key where the swarm is
 * locked. The unlock key itself always is sealed with the key that the swarm wants for all values, so who has locked
 * the swarm is told by one value, and the old key never opens it.
 */
export class DataKeys implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #mutex = new KeyedMutex();
  readonly #closed = new AbortController();
  #loop: AsyncDisposable | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** What seals: on disk. */
  get held(): Keyring {
    const { keyring } = this.#deps.certificates.keys;
    invariant(keyring !== undefined, 'a manager has the keys of the store');
    return keyring;
  }

  /** What opens: also with keys that another manager may use already. */
  get known(): Keyring {
    return this.held.with(this.#deps.waiting.all);
  }

  /** Follows the store from now on. `announce`: tells the leader which key is the newest here. */
  begin(announce: () => Promise<void>): void {
    const { clock, logger, cluster } = this.#deps;
    this.#loop = repeatWhile(
      { clock, logger, what: 'data keys of this manager', sweepMs: SWEEP_MS },
      (wake) =>
        cluster.subscribeValues((changes) => {
          if (changes.some((change) => FOLLOWED.has(keyChanged(change)))) {
            wake();
          }
        }),
      async () => {
        await this.follow();
        await announce();
        await this.#dropOld();
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await this.#loop?.[Symbol.asyncDispose]();
    // One of a client's may be under way.
    await this.#mutex.run('', () => Promise.resolve());
  }

  /** Takes a key that another manager has made, before values are sealed with it. */
  async keep(key: DataKey): Promise<void> {
    await this.#deps.waiting.add(key);
  }

  /**
   * A keyring with a new key, for the unlock key that is about to be written: all managers that answer have it then.
   */
  async propose(): Promise<Keyring> {
    const { cluster, waiting } = this.#deps;
    const above = Math.max(this.held.newest, wantedKey(cluster) ?? 0);
    const key = waiting.all.find(({ id }) => id > above) ?? newDataKey(above);
    await this.keep(key);
    await this.#tellOthers(key);
    return this.held.with([key]);
  }

  /**
   * Takes the key that the swarm wants, and seals this manager's keys as the swarm says. Throws unavailable where the
   * key is not here and no manager tells it.
   */
  async follow(): Promise<void> {
    await this.#mutex.run('', async () => {
      const { cluster, certificates, waiting, logger } = this.#deps;
      const entry = cluster.value(sealedKey.unlockKey());
      if (entry === undefined || this.#closed.signal.aborted) {
        return;
      }
      const keyring = opens(this.known, entry) ? this.known : await this.#askOthers(entry);
      // Only `SealedValues` has written it.
      const { key } = JSON.parse(keyring.open(entry.key, entry.value).toString()) as { key: string };
      const wanted = wantedKey(cluster) ?? 0;
      const more = keyring.keys.filter(({ id }) => id <= wanted);
      const isNew = more.some(({ id }) => !this.held.has(id));
      if (isNew || key !== (certificates.unlockKey?.toString('base64') ?? '')) {
        failpoint('swarm.membership.key-take');
        await certificates.change({
          keyring: (held) => held.with(more),
          unlockKey: key === '' ? null : Buffer.from(key, 'base64'),
        });
        logger.info({ locked: key !== '', dataKey: wanted }, 'the keys of this manager are sealed anew');
        failpoint('swarm.membership.key-taken');
      }
      await waiting.drop(wanted);
    });
  }

  async #tellOthers({ id, secret }: DataKey): Promise<void> {
    const { dial, logger } = this.#deps;
    const body = { id, secret: secret.toString('base64') };
    const tell = async ({ addr, node }: ManagerAddress): Promise<void> => {
      using client = dial(addr);
      try {
        await client.call('manager.keep-key', body, { timeoutMs: limits.swarmKeyCallMs });
      } catch (error) {
        logger.info({ node, error: errorText(error) }, 'a manager will ask for the new data key');
      }
    };
    await Promise.all(this.#others().map(tell));
    failpoint('swarm.membership.key-told');
  }

  async #askOthers(entry: Entry): Promise<Keyring> {
    let failure: unknown = new EngineError('unavailable', 'no other manager is known');
    for (const { addr } of this.#others()) {
      using client = this.#deps.dial(addr);
      try {
        const answer = await client.call('manager.keys', undefined, { timeoutMs: limits.swarmKeyCallMs });
        // What a manager of this swarm answers.
        const { keyring } = answer as { keyring: string };
        const theirs = this.known.with(decodeKeyring(Buffer.from(keyring, 'base64')).keys);
        if (opens(theirs, entry)) {
          return theirs;
        }
      } catch (error) {
        failure = error;
      }
    }
    throw new EngineError(
      'unavailable',
      `no manager that answers has data key ${wantedKey(this.#deps.cluster) ?? 0}: ${errorText(failure)}`,
      { cause: failure },
    );
  }

  #others(): ManagerAddress[] {
    const { managers, node } = this.#deps;
    return managers().filter((manager) => manager.node !== node);
  }

  /** Once nothing in the store needs them. The file of the store first: a daemon that dies begins anew. */
  async #dropOld(): Promise<void> {
    const { cluster, clock, certificates, logger, purge } = this.#deps;
    const oldest = oldestKept(cluster);
    const isLate = (): boolean => sealedBefore(cluster, oldest, this.held).length > 0;
    if (this.held.oldest >= oldest || isLate()) {
      return;
    }
    await pause(clock, this.#turn() * limits.swarmKeyTurnMs, this.#closed.signal);
    if (this.#closed.signal.aborted || isLate()) {
      return;
    }
    try {
      await purge();
    } catch (error) {
      logger.warn({ error: errorText(error) }, 'the file of the store could not be rewritten, the key stays');
      return;
    }
    failpoint('swarm.membership.key-purged');
    await certificates.change({ keyring: (held) => held.from(oldest) });
    failpoint('swarm.membership.key-dropped');
    logger.info({ oldest }, 'older data keys are dropped');
  }

  /** By the order of ids. */
  #turn(): number {
    const ids = this.#deps.managers().map(({ node }) => node);
    return Math.max(ids.toSorted().indexOf(this.#deps.node), 0);
  }
}
