import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { StoreIdentity } from '../../ca/keys/key-file.ts';
import { EtcdChannel } from '../../store/etcd/channel.ts';
import { EtcdMembers } from '../../store/etcd/members.ts';
import { EtcdStore } from '../../store/etcd/etcd-store.ts';
import { EtcdProcess } from '../../store/etcd-process/etcd-process.ts';
import type { MemberSettings, PeerTls } from '../../store/etcd-process/settings.ts';
import type { StoredMember } from '../files.ts';

/** The DNS name that certificates of the store's authority have. */
const ALLOWED_NAME = 'swarm-manager';
const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 8_000;
/** A member that ran for so long has not failed at its start. */
const STEADY_MS = 30_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  /** The program. */
  etcd: string;
  runDirectory: string;
  dataDirectory: string;
}

/** This manager's member of the store: started, or adopted, and started again whenever it ends. */
export class StoreMember implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #closed = new AbortController();
  #process: EtcdProcess;
  #starting: Promise<EtcdProcess> | undefined;
  #lastWords = '';
  readonly channel: EtcdChannel;
  readonly members: EtcdMembers;
  readonly store: EtcdStore;

  private constructor(deps: Deps, process: EtcdProcess, settings: MemberSettings) {
    this.#deps = deps;
    this.#process = process;
    this.channel = new EtcdChannel(process.socket);
    this.members = new EtcdMembers({ clock: deps.clock, channel: this.channel });
    this.store = new EtcdStore({ clock: deps.clock, channel: this.channel });
    void this.#keepUp(settings).catch((error: unknown) => {
      deps.logger.error({ error: errorText(error) }, 'the store of the swarm is not looked after any more');
    });
  }

  /** Resolves once the process is there. */
  static async start(
    deps: Deps,
    member: StoredMember & { name: string; identity: StoreIdentity; forceNewCluster: boolean },
  ): Promise<StoreMember> {
    const { name, peerUrl, listenPeerUrl, raft, cluster, forceNewCluster } = member;
    const settings: MemberSettings = {
      name,
      peerUrl,
      listenPeerUrl,
      raft,
      cluster,
      dataDirectory: deps.dataDirectory,
      peerTls: await writePeerTls(deps.runDirectory, member.identity),
    };
    failpoint('swarm.membership.store-start');
    const process = await EtcdProcess.start(deps, {
      ...settings,
      ...(forceNewCluster ? { forceNewCluster } : {}),
    });
    return new StoreMember(deps, process, settings);
  }

  /** What the member said before it ended last; `''` where it never has. */
  get lastWords(): string {
    return this.#lastWords;
  }

  /** What it shows the others, from its next connection on. */
  async show(identity: StoreIdentity): Promise<void> {
    await writePeerTls(this.#deps.runDirectory, identity);
  }

  /** Ends the member for good: its data may be removed after it. */
  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
    // One that is being started again would outlive its data.
    await this.#starting
      ?.then((process) => process.stop())
      .catch((error: unknown) => {
        this.#deps.logger.debug({ error: errorText(error) }, 'the member of the store did not start');
      });
    await this.#process.stop();
  }

  /** The member runs on: the next daemon adopts it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed.signal.aborted) {
      return;
    }
    this.#closed.abort();
    await this.store[Symbol.asyncDispose]();
    this.channel[Symbol.dispose]();
  }

  async #keepUp(settings: MemberSettings): Promise<void> {
    const { clock, logger } = this.#deps;
    let delayMs = RETRY_FIRST_MS;
    let sinceMs = clock.monotonicMs();
    for (;;) {
      await this.#process.ended;
      if (this.#closed.signal.aborted) {
        return;
      }
      this.#lastWords = await this.#process.lastWords().catch(errorText);
      logger.warn({ reason: this.#lastWords }, 'the member of the store has ended, and is started again');
      delayMs = clock.monotonicMs() - sinceMs > STEADY_MS ? RETRY_FIRST_MS : delayMs;
      await pause(clock, delayMs, this.#closed.signal);
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
      sinceMs = clock.monotonicMs();
      if (this.#closed.signal.aborted) {
        return;
      }
      try {
        this.#starting = EtcdProcess.start(this.#deps, settings);
        this.#process = await this.#starting;
      } catch (error) {
        logger.error({ error: errorText(error) }, 'the member of the store does not start');
      }
    }
  }
}

/** In a directory of root's on a tmpfs: what is locked must not stand on a disk. */
async function writePeerTls(runDirectory: string, identity: StoreIdentity): Promise<PeerTls> {
  await mkdir(runDirectory, { recursive: true, mode: 0o700 });
  const fileOf = (name: string): string => path.join(runDirectory, name);
  const files = {
    'peer.pem': identity.certPem,
    'peer.key': identity.keyPem,
    'peer-ca.pem': identity.authorityPem,
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(fileOf(name), text, { mode: 0o600 });
  }
  return {
    certificateFile: fileOf('peer.pem'),
    keyFile: fileOf('peer.key'),
    authorityFile: fileOf('peer-ca.pem'),
    allowedHostname: ALLOWED_NAME,
  };
}
