import { KeyedMutex } from '../../daemon/base/concurrency/mutex.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import type { AgentPart, NodeWish, TrustedRoot } from '../agent/ports.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import { Dialer } from '../rpc/dialer.ts';
import { RpcServer } from '../rpc/server.ts';
import { EtcdProcess } from '../store/etcd-process/etcd-process.ts';
import type { Write } from '../store/port.ts';
import { splitAddr } from './addresses.ts';
import type { NodeCertificates } from './certificates.ts';
import type { NodeFile, NodeFiles } from './files.ts';
import { checkStorePort } from './free-ports.ts';
import { nowMs } from './manager/authority.ts';
import { ManagerLife } from './manager/manager-life.ts';
import type { ManagerPart, NodeDeps } from './ports.ts';
import { Renewal } from './renewal.ts';
import { WantedIssuer } from './wanted-issuer.ts';

const LISTEN_RETRY_MS = 2_000;

interface Begin {
  files: NodeFiles;
  file: NodeFile;
  certificates: NodeCertificates;
}

/**
 * This node in a swarm: its agent always, its manager part while its certificate is a manager's, and what keeps that
 * certificate as it has to be.
 */
export class NodeLife<P extends ManagerPart> {
  readonly #deps: NodeDeps<P>;
  readonly #files: NodeFiles;
  readonly certificates: NodeCertificates;
  readonly #dialer: Dialer;
  readonly #mutex = new KeyedMutex();
  readonly #closed = new AbortController();
  #file: NodeFile;
  #server: RpcServer | undefined;
  #manager: ManagerLife<P> | undefined;
  #agent: AgentPart | undefined;
  #renewal: Renewal | undefined;
  #subscription: Disposable | undefined;
  /** As the leader told last. */
  #wish: NodeWish | undefined;
  readonly #issuers = new WantedIssuer();

  private constructor(deps: NodeDeps<P>, { files, file, certificates }: Begin) {
    this.#deps = deps;
    this.#files = files;
    this.#file = file;
    this.certificates = certificates;
    this.#dialer = new Dialer({ clock: deps.clock, credentials: () => certificates.credentials });
  }

  /**
   * Resolves when the node works as what it is; its manager part may take longer. `first`: what a new swarm begins
   * with. Throws failed_precondition where a manager cannot listen, but for a node that starts again (`isAgain`).
   */
  static async start<P extends ManagerPart>(
    deps: NodeDeps<P>,
    begin: Begin,
    { first, isAgain }: { first?: readonly Write[]; isAgain: boolean },
  ): Promise<NodeLife<P>> {
    const life = new NodeLife(deps, begin);
    try {
      await life.#start(first, isAgain);
      return life;
    } catch (error) {
      await life.stop({ wipe: true });
      throw error;
    }
  }

  get file(): NodeFile {
    return this.#file;
  }

  get manager(): ManagerLife<P> | undefined {
    return this.#manager;
  }

  get agent(): AgentPart | undefined {
    return this.#agent;
  }

  get isManager(): boolean {
    return this.certificates.identity.role === 'swarm-manager';
  }

  /** A manager renews an expired certificate by itself. */
  get isExpired(): boolean {
    return !this.isManager && nowMs(this.#deps.clock) > this.certificates.certificate.validUntil;
  }

  /** Own address, without port. */
  get address(): string {
    return splitAddr(this.#file.advertiseAddr).host;
  }

  /** `wipe`: the member of the store is ended with its data. Otherwise it runs on for the next daemon. */
  async stop({ wipe }: { wipe: boolean }): Promise<void> {
    this.#closed.abort();
    this.#subscription?.[Symbol.dispose]();
    await this.#renewal?.[Symbol.asyncDispose]();
    await this.#mutex.run('', async () => {
      await this.#agent?.[Symbol.asyncDispose]();
      this.#agent = undefined;
      await this.#manager?.stop({ wipe });
      this.#manager = undefined;
      await this.#server?.[Symbol.asyncDispose]();
      this.#server = undefined;
    });
    this.#dialer[Symbol.dispose]();
  }

  /** Ends the tasks, and the agent with them. */
  async endTasks(): Promise<void> {
    await this.#agent?.leave();
  }

  async #start(first: readonly Write[] | undefined, isAgain: boolean): Promise<void> {
    const { clock, logger } = this.#deps;
    if (this.isManager && !isAgain) {
      await this.#listen();
      await checkStorePort(this.#file.listenAddr);
    }
    if (!this.isManager) {
      await this.#finishDemotion();
    }
    await this.#adjust(first);
    this.#subscription = this.certificates.subscribe(() => this.#onCertificates());
    this.#renewal = new Renewal({
      clock,
      logger,
      certificates: this.certificates,
      dial: this.#dialer.dial,
      managers: () => this.#file.managers,
      // One that is to be no manager any more is cut off from the store.
      local: () => (this.#wish?.role === 'worker' ? undefined : this.#manager?.issuing),
      isWanted: () => this.#isOtherCertificateWanted(),
    });
    await this.#startAgent();
  }

  /** An earlier daemon died while it became a worker. */
  async #finishDemotion(): Promise<void> {
    if (this.#file.member !== undefined || this.certificates.keys.keyring !== undefined) {
      const running = await EtcdProcess.adopt(this.#deps);
      await running?.stop();
      await this.#files.wipeStore();
      await this.#forgetManager();
    }
  }

  async #startAgent(): Promise<void> {
    const { clock, logger, random, startAgent, hostname } = this.#deps;
    const { node, cluster } = this.certificates.identity;
    this.#agent = await startAgent({
      clock,
      logger,
      random,
      dial: this.#dialer.dial,
      node: { id: node, hostname },
      clusterId: cluster,
      // A worker whose address nobody named is where its calls come from.
      addr: this.#file.followsHost === true && !this.isManager ? '' : this.address,
      dataAddr: this.#file.dataPathAddr,
      managers: () => this.#managers(),
      tlsInfo: () => this.certificates.tlsInfo(),
      onNode: (wish) => {
        this.#wish = wish;
        this.#renewal?.look();
      },
      onRoot: (root) => this.#onRoot(root),
      onManagers: (managers) => this.#onManagers(managers),
    });
  }

  /** A manager knows itself before others do. */
  #managers(): readonly ManagerAddress[] {
    const { managers, advertiseAddr, node } = this.#file;
    const isListed = !this.isManager || managers.some((manager) => manager.node === node);
    return isListed ? managers : [...managers, { node, addr: advertiseAddr }];
  }

  #isOtherCertificateWanted(): boolean {
    const { identity, issuer } = this.certificates;
    const role = identity.role === 'swarm-manager' ? 'manager' : 'worker';
    if (this.#wish !== undefined && this.#wish.role !== role) {
      return true;
    }
    return this.#issuers.isOtherWanted(issuer);
  }

  #onRoot(root: TrustedRoot): void {
    this.#issuers.told(root);
    const isNew = root.trustPem !== this.certificates.rootsPem;
    const trusted = isNew ? this.certificates.trust(root.trustPem) : Promise.resolve();
    void trusted
      .then(() => this.#renewal?.look())
      .catch((error: unknown) => {
        this.#deps.logger.error({ error: errorText(error) }, 'the new root of the swarm could not be kept');
      });
  }

  #onManagers(managers: readonly ManagerAddress[]): void {
    if (managers.length > 0 && JSON.stringify(managers) !== JSON.stringify(this.#file.managers)) {
      void this.#writeFile({ managers: [...managers] }).catch((error: unknown) => {
        this.#deps.logger.error({ error: errorText(error) }, 'the managers of the swarm could not be kept');
      });
    }
  }

  #onCertificates(): void {
    const { certificate, issuer } = this.certificates;
    this.#issuers.renewed(certificate.pem, issuer);
    this.#dialer.refresh();
    this.#server?.refresh();
    this.#agent?.reconnect();
    void this.#adjust().catch((error: unknown) => {
      this.#deps.logger.error({ error: errorText(error) }, 'the role of this node could not be followed');
    });
  }

  /** Starts or ends the manager part, as the certificate says. */
  #adjust(first?: readonly Write[]): Promise<void> {
    return this.#mutex.run('', async () => {
      if (this.#closed.signal.aborted) {
        return;
      }
      if (this.isManager && this.#manager === undefined) {
        await this.#becomeManager(first);
      } else if (!this.isManager && this.#manager !== undefined) {
        await this.#becomeWorker();
      }
    });
  }

  async #becomeManager(first: readonly Write[] | undefined): Promise<void> {
    while (this.#server === undefined && !this.#closed.signal.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        this.#deps.logger.error({ error: errorText(error) }, 'this manager cannot listen, it tries again');
        await pause(this.#deps.clock, LISTEN_RETRY_MS, this.#closed.signal);
      }
    }
    const server = this.#server;
    if (server === undefined) {
      return;
    }
    this.#manager = new ManagerLife(
      {
        ...this.#deps,
        files: this.#files,
        certificates: this.certificates,
        file: () => this.#file,
        writeFile: (changes) => this.#writeFile(changes),
        managers: () => this.#file.managers,
        dial: this.#dialer.dial,
        server,
        onBlocked: () => server.refresh(),
      },
      first,
    );
  }

  async #becomeWorker(): Promise<void> {
    await this.#manager?.stop({ wipe: true });
    this.#manager = undefined;
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
    await this.#forgetManager();
    this.#deps.logger.info('this node is a worker of the swarm');
  }

  async #forgetManager(): Promise<void> {
    const { member: _member, ...file } = this.#file;
    this.#file = file;
    await this.#files.writeNode(file);
    await this.certificates.change({ manager: {}, unlockKey: null });
  }

  async #listen(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { host, port } = splitAddr(this.#file.listenAddr);
    this.#server = await RpcServer.listen(
      {
        clock,
        logger,
        credentials: () => this.certificates.credentials,
        blocked: () => this.#manager?.blocked ?? new Map(),
        isManager: (node) => this.#manager?.isManager(node) ?? true,
      },
      { address: host, port: Number(port) },
    );
  }

  async #writeFile(changes: Partial<NodeFile>): Promise<void> {
    this.#file = { ...this.#file, ...changes };
    await this.#mutex.run('file', () => this.#files.writeNode(this.#file));
  }
}
