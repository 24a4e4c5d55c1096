import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText, internal } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { bytesOf } from './copies.ts';
import type { BlobPeers } from './port.ts';
import { repairOf, type PeerWord } from './repair.ts';

/** What a record names. */
export interface NamedBlob {
  digest: string;
  /** The id of a repository that has it. */
  repository: number;
}

interface Deps {
  clock: Clock;
  log: Logger;
  /** This manager, as the others call it. */
  host: string;
  peers: Pick<BlobPeers, 'others' | 'offer' | 'give'>;
  replicas?: number;
  /** What manifests of all repositories are and name, each once. */
  named: () => NamedBlob[];
  /** Of what this manager holds. */
  size: (digest: string) => Promise<number | undefined>;
  open: (digest: string) => Promise<RegistryBlob | undefined>;
  /** A copy was made of so many bytes. */
  repaired: (bytes: number) => void;
}

/** No blob has this digest: who is asked for it shows that it answers. */
const NOBODYS = `sha256:${'0'.repeat(64)}`;

/**
 * Copies what too few managers hold to others: all that this one holds is looked at when it starts, when a manager has
 * come, gone or not answered for `limits.hubPeerLostMs`, and each hour. One blob after the other, and slower than a
 * disk or a network is.
 */
export class Repairs implements Disposable {
  readonly #deps: Deps;
  readonly #stop = new AbortController();
  /** Since when managers do not answer. */
  readonly #silentMs = new Map<string, number>();
  #timer: Disposable | undefined;
  /** The managers that answered when all was looked at, and when it is to be looked at again. */
  #known = '';
  #nextMs = -Infinity;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** To be called once what is there is known. */
  start(): void {
    if (this.#stop.signal.aborted) {
      return;
    }
    this.#timer = this.#deps.clock.setTimeout(() => {
      void this.#turn().catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'the hub looks for lost copies no more');
      });
    }, limits.hubRepairLookMs);
  }

  [Symbol.dispose](): void {
    this.#stop.abort(internal('the hub ends'));
    this.#timer?.[Symbol.dispose]();
  }

  async #turn(): Promise<void> {
    await this.#probe();
    const known = this.#living().toSorted().join();
    const isOther = known !== this.#known;
    if (isOther || this.#deps.clock.monotonicMs() >= this.#nextMs) {
      // What changes meanwhile is looked at in the next turn.
      this.#known = known;
      const isOpen = await this.#lookAtAll();
      // A manager that goes hands over what it alone holds, and that may arrive after it was looked for.
      const inMs = isOpen || isOther ? limits.hubRepairRetryMs : limits.hubRepairAllMs;
      this.#nextMs = this.#deps.clock.monotonicMs() + inMs;
    }
    this.start();
  }

  async #probe(): Promise<void> {
    const hosts = this.#deps.peers.others();
    for (const host of this.#silentMs.keys()) {
      if (!hosts.includes(host)) {
        this.#silentMs.delete(host);
      }
    }
    await Promise.all(hosts.map((host) => this.#ask(host, { digest: NOBODYS, size: 0 })));
  }

  /** All that are not lost. */
  #living(): string[] {
    return this.#deps.peers.others().filter((host) => this.#silence(host) !== 'lost');
  }

  #silence(host: string): 'away' | 'lost' | undefined {
    const since = this.#silentMs.get(host);
    const nowMs = this.#deps.clock.monotonicMs();
    return since === undefined ? undefined : nowMs - since >= limits.hubPeerLostMs ? 'lost' : 'away';
  }

  async #ask(host: string, blob: { digest: string; size: number }): Promise<PeerWord> {
    try {
      const said = await this.#deps.peers.offer(host, { ...blob, isPush: false }, this.#stop.signal);
      this.#silentMs.delete(host);
      return { host, said };
    } catch {
      // Why is in the log of the connection; here only for how long counts.
      const since = this.#silentMs.get(host) ?? this.#deps.clock.monotonicMs();
      this.#silentMs.set(host, since);
      return { host, said: this.#silence(host) ?? 'away' };
    }
  }

  /** True = something is to be looked at again soon. */
  async #lookAtAll(): Promise<boolean> {
    let isOpen = false;
    let [copies, failed] = [0, 0];
    for (const { digest, repository } of this.#deps.named()) {
      const size = await this.#deps.size(digest);
      if (size === undefined) {
        continue;
      }
      if (this.#stop.signal.aborted) {
        return true;
      }
      const found = await this.#decide({ digest, size, repository });
      isOpen ||= found.isOpen;
      for (const host of found.give) {
        const isMade = await this.#give(host, { digest, size });
        [copies, failed] = isMade ? [copies + 1, failed] : [copies, failed + 1];
      }
      await this.#pause(found.give.length * size);
    }
    if (copies + failed > 0) {
      this.#deps.log.info({ copies, failed }, 'blobs of the hub that too few managers held were copied');
    }
    return isOpen || failed > 0;
  }

  async #decide({
    digest,
    size,
    repository,
  }: NamedBlob & { size: number }): Promise<ReturnType<typeof repairOf>> {
    const { peers, host: self, replicas = 0 } = this.#deps;
    const others = await Promise.all(
      peers.others().map(async (host) => {
        // Who does not answer would only take the time of each question.
        const silence = this.#silence(host);
        return silence === undefined ? await this.#ask(host, { digest, size }) : { host, said: silence };
      }),
    );
    return repairOf({ self, repository, replicas, others });
  }

  async #give(host: string, blob: { digest: string; size: number }): Promise<boolean> {
    const { peers, open, repaired, log } = this.#deps;
    const { digest, size } = blob;
    try {
      await using own = await open(digest);
      if (own === undefined) {
        return false;
      }
      failpoint('hub.repair.give');
      await peers.give(host, { ...blob, isPush: false }, bytesOf(own), this.#stop.signal);
      repaired(size);
      return true;
    } catch (error) {
      log.warn({ digest, host, reason: errorText(error) }, 'a manager did not take a copy of a blob');
      return false;
    }
  }

  /** So that pushes and pulls have the rest of the network and of the disk. */
  #pause(bytes: number): Promise<void> {
    const ms = Math.max(limits.hubRepairPauseMs, (bytes * 1_000) / limits.hubRepairBytesPerSecond);
    return new Promise((resolve) => {
      this.#timer = this.#deps.clock.setTimeout(resolve, ms);
      this.#stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
