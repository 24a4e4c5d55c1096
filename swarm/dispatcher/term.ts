import { EngineError, failedPrecondition, notFound, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { ChangedPart } from '../cluster/cluster.ts';
import type { Leading } from '../leader/ports.ts';
import { newSwarmId } from '../objects/ids.ts';
import { isTerminal } from '../objects/task-state.ts';
import type { AttachAnswer, AttachedAnswer } from '../protocol/attachments.ts';
import { type HeartbeatAnswer, SESSION_INVALID, type SessionMessage } from '../protocol/session.ts';
import type { Caller } from '../rpc/port.ts';
import { AssignedObjects } from './assignments/assigned.ts';
import { AssignmentSet } from './assignments/assignment-set.ts';
import { KeyBook } from './assignments/networks/key-book.ts';
import { NetworkIndex } from './assignments/networks/network-index.ts';
import { NetworkSet } from './assignments/networks/network-set.ts';
import { attach, attached, detach } from './attachments.ts';
import { descriptionOf, fieldsOf, maybeTextOf, statusesOf, subnetsOf, textOf } from './check.ts';
import { LogBroker } from './logs/broker.ts';
import type { ChangedFact, DispatcherDeps } from './ports.ts';
import { Presence } from './presence/presence.ts';
import { SessionRate } from './presence/session-rate.ts';
import { Session, type Topic } from './session.ts';

/** Of a swarm whose record is not there yet. */
const DATA_PATH_PORT = 4789;

/** The dispatcher's work during one leadership: sessions of nodes, and what comes in by them. */
export class Term implements AsyncDisposable {
  readonly leading: Leading;
  readonly #deps: DispatcherDeps;
  readonly #objects: AssignedObjects;
  readonly #networks: NetworkIndex;
  readonly #keys: KeyBook;
  readonly #presence: Presence;
  readonly logs: LogBroker;
  readonly #rate = new SessionRate();
  /** By node. */
  readonly #sessions = new Map<string, Session>();
  /** Where each task was assigned to, for its deletion. */
  readonly #nodeOf = new Map<string, string>();
  readonly #subscriptions: Disposable[];

  constructor(deps: DispatcherDeps, leading: Leading) {
    this.#deps = deps;
    this.leading = leading;
    const { cluster } = leading;
    this.#objects = new AssignedObjects({
      ...deps,
      cluster,
      statusOf: (task) => leading.statusOf(task),
    });
    this.#networks = new NetworkIndex({
      state: cluster.state,
      statusOf: (task) => leading.statusOf(task),
      isKnownDown: (node) => leading.markOf(node)?.state === 'down',
    });
    this.#keys = new KeyBook({
      ...deps,
      cluster,
      changed: () => this.#sessions.forEach((session) => session.touchNetworks()),
    });
    for (const { id, record } of cluster.state.tasks.values()) {
      this.#place(id, record.node);
    }
    this.#presence = new Presence({
      ...deps,
      leading,
      onDown: (node) => {
        this.#sessions.get(node)?.end();
        this.#networks.touchNode(node);
      },
    });
    this.logs = new LogBroker({
      ...deps,
      cluster,
      send: (node, message) => this.#send(node, message),
    });
    this.#subscriptions = [
      cluster.subscribe((changed) => changed.forEach((part) => this.#hear(part))),
      deps.facts.subscribe((changed) => this.#touchFact(changed)),
    ];
  }

  /** `session.open`. */
  async *open(body: unknown, caller: Caller, signal: AbortSignal): AsyncGenerator<SessionMessage> {
    const node = nodeOf(caller);
    const fields = fieldsOf(body, 'a session');
    const description = descriptionOf(fields);
    const addr = textOf(fields, 'addr') || addressOf(caller);
    const dataAddr = maybeTextOf(fields, 'dataAddr');
    this.#admit(node);
    failpoint('swarm.session.open');
    const session = this.#newSession(node, dataAddr ?? addr);
    this.#sessions.get(node)?.end();
    this.#sessions.set(node, session);
    this.#presence.arrive(node, { addr, dataAddr, description, subnets: subnetsOf(fields) });
    this.#networks.touchNode(node);
    this.logs.resume(node);
    try {
      yield* session.messages(signal);
    } finally {
      session.end();
      if (this.#sessions.get(node) === session) {
        // No heartbeat for a while, and the node is down; its connection alone decides nothing.
        this.#sessions.delete(node);
      }
    }
  }

  /** `session.heartbeat`. */
  heartbeat(body: unknown, caller: Caller): HeartbeatAnswer {
    this.#presence.beat(this.#own(body, caller).node);
    return { heartbeatMs: this.#heartbeatMs() };
  }

  /** `session.report`: all of it, or nothing where a task is another node's. */
  report(body: unknown, caller: Caller): void {
    const { node } = this.#own(body, caller);
    const statuses = statusesOf(fieldsOf(body, 'a report'));
    const { state, cluster } = this.leading;
    for (const { id } of statuses) {
      const task = state.tasks.get(id);
      if (task !== undefined && task.record.node !== node) {
        throw new EngineError('forbidden', 'cannot update a task not assigned this node');
      }
      if (task === undefined && cluster.state.tasks.get(id)?.record.node === node) {
        // Its write was held for refused. The leader learns of it with the end of the one that is under way.
        throw new EngineError('unavailable', `task ${id} is not known to the leader yet`);
      }
    }
    for (const status of statuses) {
      if (this.leading.report(status)) {
        this.#networks.touchTask(status.id);
      }
    }
  }

  /** `session.describe`. */
  describe(body: unknown, caller: Caller): void {
    const { node } = this.#own(body, caller);
    const fields = fieldsOf(body, 'a description');
    this.#presence.describe(node, { description: descriptionOf(fields), subnets: subnetsOf(fields) });
  }

  /** `session.leave`: its containers are in no network of the swarm any more. */
  async leave(body: unknown, caller: Caller, signal: AbortSignal): Promise<void> {
    const { node } = this.#own(body, caller);
    this.#presence.leave(node);
    await this.leading.attachments.attached(node, [], signal);
  }

  /** `logs.publish`: the first value says whose lines follow. */
  async publish(values: AsyncIterable<unknown>, caller: Caller): Promise<void> {
    const iterator = values[Symbol.asyncIterator]();
    const { value: head } = await iterator.next();
    const { node } = this.#own(head, caller);
    await this.logs.publish(node, textOf(fieldsOf(head, 'the head of lines'), 'subscription'), iterator);
  }

  /** `networks.attach`. */
  attach(body: unknown, caller: Caller, signal: AbortSignal): Promise<AttachAnswer> {
    return attach(this.leading, this.#own(body, caller).node, body, signal);
  }

  /** `networks.detach`. */
  detach(body: unknown, caller: Caller, signal: AbortSignal): Promise<void> {
    return detach(this.leading, this.#own(body, caller).node, body, signal);
  }

  /** `networks.attached`. */
  attached(body: unknown, caller: Caller, signal: AbortSignal): Promise<AttachedAnswer> {
    return attached(this.leading, this.#own(body, caller).node, body, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.forEach((subscription) => subscription[Symbol.dispose]());
    this.#keys[Symbol.dispose]();
    this.#presence[Symbol.dispose]();
    this.logs[Symbol.dispose]();
    for (const session of this.#sessions.values()) {
      session.end(failedPrecondition('this manager leads the swarm no more'));
    }
  }

  #admit(node: string): void {
    if (this.leading.cluster.state.nodes.get(node)?.record === undefined) {
      throw notFound(`node ${node} not found`);
    }
    if (!this.#rate.admit(node, this.#deps.clock.monotonicMs())) {
      throw new EngineError(
        'unavailable',
        `node ${node} exceeded rate limit count of ${limits.swarmSessionsMax} sessions`,
      );
    }
  }

  #newSession(node: string, dataAddr: string): Session {
    const { clock, random } = this.#deps;
    const { cluster } = this.leading;
    const set = new AssignmentSet({ node, cluster, objects: this.#objects });
    const networks = new NetworkSet({
      node,
      index: this.#networks,
      dataPath: () => ({ addr: dataAddr, port: cluster.state.cluster?.dataPathPort ?? DATA_PATH_PORT }),
      keysFor: (nodes) => this.#keys.keysFor(node, nodes),
      touched: () => session.touchNetworks(),
    });
    const session = new Session({
      clock,
      id: newSwarmId(random),
      node,
      set,
      networks,
      heartbeatMs: this.#heartbeatMs(),
      tell: (topic) => this.#tell(node, topic),
    });
    return session;
  }

  /** The session that a node's call names: its own, and its present one. */
  #own(body: unknown, caller: Caller): Session {
    const session = this.#sessions.get(nodeOf(caller));
    const named = textOf(fieldsOf(body, 'a call'), 'session');
    if (session === undefined || session.hasEnded || named !== session.id) {
      throw failedPrecondition(SESSION_INVALID);
    }
    return session;
  }

  #heartbeatMs(): number {
    const spread = Buffer.from(this.#deps.random.bytes(2)).readUInt16BE() / 0xffff;
    const { periodMs } = this.#presence;
    const differenceMs = Math.min(limits.swarmHeartbeatSpreadMs, periodMs / 2) * (2 * spread - 1);
    return Math.round(periodMs + differenceMs);
  }

  #tell(node: string, topic: Topic): SessionMessage | undefined {
    const { facts } = this.#deps;
    switch (topic) {
      case 'managers':
        return { kind: 'managers', managers: [...facts.managers()] };
      case 'root':
        return facts.rootFor(node);
      case 'node': {
        const { record, state } = this.leading.cluster.state.nodes.get(node) ?? {};
        return record && state && { kind: 'node', spec: record.spec, role: state.role };
      }
      default:
        return unreachable(topic);
    }
  }

  #send(node: string, message: SessionMessage): boolean {
    const session = this.#sessions.get(node);
    if (session === undefined || session.hasEnded) {
      return false;
    }
    session.send(message);
    return true;
  }

  #hear(changed: ChangedPart): void {
    const { write } = changed;
    const { part, id } = write;
    this.logs.hear(changed);
    this.#networks.hear(write);
    if (part === 'task') {
      const before = this.#nodeOf.get(id);
      this.#place(id, write.value?.node);
      this.#sessions.get(write.value?.node ?? before ?? '')?.touchTask(id);
    } else if (part === 'status' && write.value !== null && isTerminal(write.value.state)) {
      // Its secrets go.
      this.#sessions.get(this.#nodeOf.get(id) ?? '')?.touchTask(id);
    } else if (part === 'node' || part === 'nodeState') {
      this.#presence.notice(id);
      this.#sessions.get(id)?.touch('node');
    }
    if (part === 'node' && write.value === null) {
      this.#rate.forget(id);
      this.#sessions.get(id)?.end(notFound(`node ${id} not found`));
    }
  }

  #place(task: string, node: string | undefined): void {
    if (node === undefined) {
      this.#nodeOf.delete(task);
    } else {
      this.#nodeOf.set(task, node);
    }
  }

  #touchFact({ topic, node }: ChangedFact): void {
    if (node !== undefined) {
      this.#sessions.get(node)?.touch(topic);
      return;
    }
    this.#sessions.forEach((session) => session.touch(topic));
  }
}

/** Methods are for nodes: the caller has a certificate. */
function nodeOf({ identity }: Caller): string {
  if (identity === undefined) {
    throw new EngineError('unauthorized', 'a node of the swarm shows its certificate');
  }
  return identity.node;
}

/** Where a call comes from. A socket of both families shows IPv4 within IPv6. */
function addressOf({ address }: Caller): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
