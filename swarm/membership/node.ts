import { rm } from 'node:fs/promises';
import type { SwarmInfo, SwarmInitRequest, SwarmJoinRequest } from '../../api/types/swarm/swarm.ts';
import { KeyedMutex } from '../../daemon/base/concurrency/mutex.ts';
import { withTimeout } from '../../daemon/base/concurrency/timeout.ts';
import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { AgentPart } from '../agent/ports.ts';
import { isLocked } from '../ca/keys/key-file.ts';
import { parseUnlockKey } from '../ca/keys/unlock-key.ts';
import { parseJoinToken } from '../ca/tokens.ts';
import { newSwarmId } from '../objects/ids.ts';
import { checkInstalled, EtcdProcess } from '../store/etcd-process/etcd-process.ts';
import { chooseAddresses, hostInterfaces, isAnyAddress, splitAddr } from './addresses.ts';
import type { Addresses, AddressRequest, HostInterface } from './addresses.ts';
import { alone } from './alone.ts';
import { NodeCertificates } from './certificates.ts';
import { NodeFiles, type NodeFile } from './files.ts';
import { withPorts } from './free-ports.ts';
import { firstThings } from './first-writes.ts';
import { availabilityOf, initOptions } from './init-options.ts';
import { join } from './joining.ts';
import { leaveStore } from './leaving.ts';
import { NodeLife } from './life.ts';
import { nowMs } from './manager/authority.ts';
import { peerUrls } from './manager/join-store.ts';
import { raftOf } from './manager/admission.ts';
import { movedWithHost } from './moving.ts';
import type { ManagerPart, NodeDeps } from './ports.ts';
import { refusals } from './refusals.ts';

type State<P extends ManagerPart> =
  | { kind: 'inactive' }
  /** It joins, in the background where a client does not wait any more. */
  | { kind: 'pending'; file: NodeFile; trouble: string; stop: AbortController; joined: Promise<void> }
  | { kind: 'active'; life: NodeLife<P> }
  /** A manager whose keys nobody has unlocked since the daemon's start. */
  | { kind: 'locked'; file: NodeFile }
  | { kind: 'error'; file: NodeFile | undefined; message: string };

/** What this host is to a swarm: at most to one. Verbs come one after the other. */
export class SwarmNode<P extends ManagerPart> implements AsyncDisposable {
  readonly #deps: NodeDeps<P>;
  readonly #files: NodeFiles;
  readonly #mutex = new KeyedMutex();
  #was: State<P> = { kind: 'inactive' };

  constructor(deps: NodeDeps<P>) {
    this.#deps = deps;
    this.#files = new NodeFiles(deps.dataDirectory);
  }

  get #state(): State<P> {
    return this.#was;
  }

  set #state(state: State<P>) {
    this.#was = state;
    this.#deps.onChange?.();
  }

  /** Becomes again what the node was when an earlier daemon ended. What fails is told by `info`. */
  async start(): Promise<void> {
    await this.#mutex.run('', async () => {
      let file: NodeFile | undefined;
      try {
        file = await this.#files.readNode();
        if (file === undefined || file.isVoid === true) {
          // An init or a leave that was killed.
          await this.#wipe();
        } else if (file.joining !== undefined) {
          void this.#join(file).catch((error: unknown) => {
            this.#deps.logger.error({ error: errorText(error) }, 'the swarm could not be joined');
          });
        } else if (isLocked((await this.#files.readKeys()) ?? '')) {
          this.#state = { kind: 'locked', file };
        } else {
          await this.#resume(file, await NodeCertificates.read(this.#files));
        }
      } catch (error) {
        this.#deps.logger.error({ error: errorText(error) }, 'the swarm could not be taken up again');
        this.#state = { kind: 'error', file, message: errorText(error) };
      }
    });
  }

  /** From memory. */
  info(): Pick<
    SwarmInfo,
    'NodeID' | 'NodeAddr' | 'LocalNodeState' | 'ControlAvailable' | 'Error' | 'RemoteManagers'
  > {
    const state = this.#state;
    if (state.kind === 'active') {
      return infoOf(state.life);
    }
    const file = 'file' in state ? state.file : undefined;
    const error = state.kind === 'pending' ? state.trouble : state.kind === 'error' ? state.message : '';
    return {
      NodeID: file?.node ?? '',
      NodeAddr: file === undefined ? '' : splitAddr(file.advertiseAddr).host,
      LocalNodeState: state.kind,
      ControlAvailable: false,
      Error: state.kind === 'locked' ? refusals.locked().message : error,
      RemoteManagers: null,
    };
  }

  /** This node's manager part. Throws unavailable in dockerd's words where it has none. */
  manager(): P {
    const state = this.#state;
    switch (state.kind) {
      case 'inactive':
      case 'pending':
        throw refusals.noSwarm();
      case 'locked':
        throw refusals.locked();
      case 'error':
        throw refusals.notReady();
      case 'active':
        break;
    }
    const { life } = state;
    if (life.isExpired) {
      throw refusals.expired();
    }
    if (!life.isManager) {
      throw refusals.worker();
    }
    if (life.manager?.parts === undefined) {
      throw refusals.notReady();
    }
    return life.manager.parts;
  }

  /** Whether the node is a manager, ready or not, and who the managers are; undefined where it belongs to no swarm. */
  get membership(): { isManager: boolean; managers: readonly string[] } | undefined {
    const state = this.#state;
    if (state.kind !== 'active') {
      return 'file' in state && state.file?.joining === undefined && state.file !== undefined
        ? { isManager: true, managers: [] }
        : undefined;
    }
    return {
      isManager: state.life.isManager,
      managers: state.life.file.managers.map(({ addr }) => splitAddr(addr).host),
    };
  }

  /** Undefined where this node belongs to no swarm, or does not work as what it is to it. */
  get agent(): AgentPart | undefined {
    return this.#state.kind === 'active' ? this.#state.life.agent : undefined;
  }

  /** Begins a swarm with this node as its only manager. Answers the node's id. */
  init(request: SwarmInitRequest): Promise<string> {
    return this.#mutex.run('', async () => {
      if (request.ForceNewCluster === true && this.#state.kind === 'active') {
        return await this.#goOnAlone(this.#state.life);
      }
      if (this.#state.kind !== 'inactive') {
        throw refusals.alreadyPart();
      }
      return await this.#begin(request);
    });
  }

  /** Resolves when the node belongs to the swarm. After `limits.swarmJoinMs` it throws, and joins in the background. */
  async join(request: SwarmJoinRequest): Promise<void> {
    const joined = await this.#mutex.run('', async () => {
      if (this.#state.kind !== 'inactive') {
        throw refusals.alreadyPart();
      }
      const { RemoteAddrs, JoinToken = '', Availability = '' } = request;
      if (!RemoteAddrs?.length) {
        throw invalidArgument('at least 1 RemoteAddr is required to join');
      }
      parseJoinToken(JoinToken);
      availabilityOf(Availability);
      const file: NodeFile = {
        node: '',
        cluster: '',
        ...(await this.#addressesOf(request, { isJoining: true })),
        managers: [],
        joining: { RemoteAddrs, JoinToken, Availability },
      };
      await this.#files.writeNode(file);
      return { ends: this.#join(file) };
    });
    if (!(await withTimeout(this.#deps.clock, joined.ends, limits.swarmJoinMs))) {
      throw refusals.joinTimeout();
    }
  }

  /** Leaves the swarm; its tasks end. Throws unavailable in dockerd's words where that costs more than this node. */
  async leave({ force }: { force: boolean }): Promise<void> {
    await this.#endJoin();
    await this.#mutex.run('', async () => {
      const state = this.#state;
      switch (state.kind) {
        case 'inactive':
          throw refusals.notPartOfSwarm();
        case 'locked':
          if (!force) {
            throw refusals.leaveLocked();
          }
          break;
        case 'pending':
        case 'error':
          break;
        case 'active':
          await this.#leave(state.life, force);
          break;
      }
      await this.#wipe();
      this.#state = { kind: 'inactive' };
    });
  }

  /** Throws conflict where this node is not locked, unauthorized for a wrong key. */
  unlock(text: string): Promise<void> {
    return this.#mutex.run('', async () => {
      if (this.#state.kind !== 'locked') {
        throw this.#state.kind === 'inactive' ? refusals.noSwarm() : refusals.notLocked();
      }
      const key = parseUnlockKey(text);
      const { file } = this.#state;
      await this.#resume(file, await NodeCertificates.read(this.#files, key));
    });
  }

  /** The daemon ends; the node stays in its swarm, and its member of the store runs on. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endJoin();
    await this.#mutex.run('', async () => {
      if (this.#state.kind === 'active') {
        await this.#state.life.stop({ wipe: false });
      }
      this.#state = { kind: 'inactive' };
    });
  }

  async #begin(request: SwarmInitRequest): Promise<string> {
    const { clock, random, completeSpec, logger, etcd } = this.#deps;
    checkInstalled(etcd);
    const asked = request.Spec ?? {};
    const spec = completeSpec(
      request.AutoLockManagers === true
        ? { ...asked, EncryptionConfig: { ...asked.EncryptionConfig, AutoLockManagers: true } }
        : asked,
    );
    const options = initOptions(request);
    const availability = availabilityOf(request.Availability);
    const addresses = await this.#addressesOf(request, { isJoining: false });
    const [node, cluster] = [newSwarmId(random), newSwarmId(random)];
    const urls = peerUrls(addresses);
    const { writes, ...held } = firstThings(
      {
        identity: { node, cluster, role: 'swarm-manager' },
        spec,
        availability,
        ...options,
        peerUrl: urls.peerUrl,
      },
      { now: nowMs(clock), random },
    );
    const file: NodeFile = {
      node,
      cluster,
      ...addresses,
      managers: [{ node, addr: addresses.advertiseAddr }],
      isVoid: true,
      member: {
        ...urls,
        raft: raftOf(spec.Raft ?? {}),
        cluster: { state: 'new', token: cluster, peers: [{ name: node, peerUrl: urls.peerUrl }] },
        isBegun: false,
      },
    };
    const certificates = new NodeCertificates(this.#files, held);
    try {
      await this.#files.writeNode(file);
      await certificates.writeAll();
      const begin = { files: this.#files, file, certificates };
      const life = await NodeLife.start(this.#deps, begin, { first: writes, isAgain: false });
      this.#state = { kind: 'active', life };
      await this.#untilReady(life);
    } catch (error) {
      await this.#abandon();
      throw error;
    }
    logger.info({ node, cluster }, 'this node has begun a swarm');
    return node;
  }

  async #untilReady({ manager }: NodeLife<P>): Promise<void> {
    if (manager !== undefined && !(await withTimeout(this.#deps.clock, manager.ready, limits.swarmJoinMs))) {
      throw refusals.notReady(manager.trouble);
    }
  }

  async #abandon(): Promise<void> {
    if (this.#state.kind === 'active') {
      await this.#state.life.manager?.parts?.leaving();
      await this.#state.life.stop({ wipe: true });
    }
    await this.#wipe();
    this.#state = { kind: 'inactive' };
  }

  /** `--force-new-cluster`: the store goes on with what this member knows, and it alone. */
  async #goOnAlone(life: NodeLife<P>): Promise<string> {
    const { file, certificates } = life;
    if (!life.isManager || file.member === undefined) {
      throw refusals.worker();
    }
    await life.stop({ wipe: false });
    const forced = alone(file, file.member);
    await this.#files.writeNode(forced);
    await this.#resume(forced, certificates);
    if (this.#state.kind === 'active') {
      await this.#untilReady(this.#state.life);
    }
    return file.node;
  }

  #interfaces(): readonly HostInterface[] {
    return (this.#deps.interfaces ?? hostInterfaces)();
  }

  async #addressesOf(
    request: AddressRequest,
    how: { isJoining: boolean },
  ): Promise<Addresses & { followsHost: boolean }> {
    const addresses = await withPorts(chooseAddresses(request, this.#interfaces(), how));
    const { host } = splitAddr(addresses.listenAddr);
    return { ...addresses, followsHost: !request.AdvertiseAddr && isAnyAddress(host) };
  }

  async #resume(stored: NodeFile, certificates: NodeCertificates): Promise<void> {
    const file = movedWithHost(stored, this.#interfaces());
    if (file !== stored) {
      const { advertiseAddr, dataPathAddr } = file;
      this.#deps.logger.warn(
        { from: stored.advertiseAddr, to: advertiseAddr, dataPath: dataPathAddr },
        'this node has another address',
      );
      await this.#files.writeNode(file);
    }
    const begin = { files: this.#files, file, certificates };
    this.#state = { kind: 'active', life: await NodeLife.start(this.#deps, begin, { isAgain: true }) };
  }

  /** Answers what ends when the node has joined, or never will. */
  #join(file: NodeFile): Promise<void> {
    const stop = new AbortController();
    const joined = this.#runJoin(file, stop.signal);
    // A client that does not wait any more learns of it by `info`.
    const ended = joined.catch(() => undefined);
    this.#state = { kind: 'pending', file, trouble: '', stop, joined: ended };
    return joined;
  }

  async #runJoin(file: NodeFile, signal: AbortSignal): Promise<void> {
    const onTrouble = (trouble: string): void => {
      if (this.#state.kind === 'pending') {
        this.#state = { ...this.#state, trouble };
      }
    };
    try {
      const joined = await join(this.#deps, { files: this.#files, file, signal, onTrouble });
      await this.#mutex.run('', async () => {
        signal.throwIfAborted();
        await this.#resume(joined.file, joined.certificates);
      });
      if (this.#state.kind === 'active') {
        await Promise.race([this.#state.life.manager?.ready, aborted(signal)]);
      }
    } catch (error) {
      await this.#mutex.run('', async () => {
        if (this.#state.kind === 'pending' && !signal.aborted) {
          await this.#wipe();
          this.#state = { kind: 'inactive' };
        }
      });
      throw error;
    }
  }

  /** Not within a verb: the join itself takes its turn. */
  async #endJoin(): Promise<void> {
    if (this.#state.kind === 'pending') {
      this.#state.stop.abort();
      await this.#state.joined;
    }
  }

  async #leave(life: NodeLife<P>, force: boolean): Promise<void> {
    if (life.isManager && !force) {
      const managers = life.manager?.table?.list();
      throw refusals.leaveManager(
        managers && {
          reachable: managers.filter(({ reachability }) => reachability !== 'unreachable').length,
          all: managers.length,
          stays: life.manager?.parts?.stays ?? '',
        },
      );
    }
    await (life.isManager ? life.manager?.parts?.leaving() : this.#deps.onWorkerLeaves?.());
    await life.endTasks();
    await leaveStore(this.#deps, life);
    await this.#files.writeNode({ ...life.file, isVoid: true });
    await life.stop({ wipe: true });
  }

  /** Nothing of a swarm is left on this node. */
  async #wipe(): Promise<void> {
    const { clock, etcd, runDirectory, dropTasks } = this.#deps;
    await dropTasks();
    const running = await EtcdProcess.adopt({ clock, etcd, runDirectory });
    await running?.stop();
    await rm(runDirectory, { recursive: true, force: true });
    await this.#files.wipe();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });
}

function infoOf<P extends ManagerPart>(life: NodeLife<P>): ReturnType<SwarmNode<P>['info']> {
  const { file, isExpired, isManager, manager } = life;
  const trouble = isManager ? (manager?.trouble ?? '') : (life.agent?.trouble ?? '');
  return {
    NodeID: file.node,
    NodeAddr: life.address,
    LocalNodeState: isExpired ? 'error' : 'active',
    ControlAvailable: manager?.parts !== undefined,
    Error: isExpired ? refusals.expired().message : trouble,
    RemoteManagers: file.managers.map(({ node, addr }) => ({ NodeID: node, Addr: addr })),
  };
}
