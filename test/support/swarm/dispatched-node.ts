import { Dispatcher } from '../../../swarm/dispatcher/dispatcher.ts';
import type { ChangedFact, DispatcherDeps, SwarmFacts } from '../../../swarm/dispatcher/ports.ts';
import type { TaskState } from '../../../swarm/objects/task-state.ts';
import type { Assignments, SessionMessage } from '../../../swarm/protocol/session.ts';
import type { Caller, Method, RpcClient } from '../../../swarm/rpc/port.ts';
import { settled } from '../fakes/manual-clock.ts';
import { SwarmRig, type ManagerRig } from './manager-rig.ts';
import { SeededRandom } from '../seeded-random.ts';
import type { Write } from '../../../swarm/objects/parts.ts';

/** What nodes are told of managers and root, changed by hand. */
export class Facts implements SwarmFacts {
  managersNow = [{ node: 'm1', addr: 'm1:2377' }];
  #listener: ((changed: ChangedFact) => void) | undefined;

  managers(): typeof this.managersNow {
    return this.managersNow;
  }

  rootFor(): Extract<SessionMessage, { kind: 'root' }> {
    return { kind: 'root', trustPem: 'PEM', issuerSubject: 'subject', issuerPublicKey: 'key' };
  }

  subscribe(listener: (changed: ChangedFact) => void): Disposable {
    this.#listener = listener;
    return { [Symbol.dispose]: () => (this.#listener = undefined) };
  }

  change(): void {
    this.#listener?.({ topic: 'managers', node: undefined });
  }
}

/** A manager with a dispatcher. Values are "sealed" by a word in front. */
export interface Dispatching {
  manager: ManagerRig;
  dispatcher: Dispatcher;
  facts: Facts;
}

export async function dispatching(
  id = 'm1',
  rig = new SwarmRig(),
  more: Partial<DispatcherDeps> = {},
): Promise<Dispatching> {
  const manager = await rig.manager(id);
  const facts = new Facts();
  const dispatcher = new Dispatcher({
    clock: rig.clock,
    random: new SeededRandom(2),
    logger: manager.deps.logger,
    cluster: manager.cluster,
    facts,
    unseal: (_key, sealed) => Buffer.from(sealed.toString().replace(/^sealed /, '')),
    dial: () => {
      throw new Error('nobody is to be dialled');
    },
    ...more,
  });
  return { manager, dispatcher, facts };
}

/** As `dispatching`, with these things stored, leading. */
export async function leadingDispatcher(...writes: Write[][]): Promise<Dispatching> {
  const made = await dispatching();
  await made.manager.begin(...writes);
  await made.manager.lead({ loops: [made.dispatcher] });
  await made.manager.rig.clock.advance(60);
  return made;
}

/** Opens sessions of these nodes, and lets the leader do what it can do with them. */
export async function opened(
  { dispatcher, manager }: Dispatching,
  ...ids: string[]
): Promise<DispatchedNode[]> {
  const nodes = await Promise.all(ids.map((id) => DispatchedNode.open(dispatcher, id)));
  await manager.rig.clock.advance(250);
  return nodes;
}

/** A node's side of a session: what it was told, and what it says. */
export class DispatchedNode {
  readonly told: SessionMessage[] = [];
  /** Why the stream ended; undefined while it is open. */
  ended: string | undefined;
  readonly id: string;
  readonly #methods: readonly Method[];
  readonly #gone = new AbortController();

  constructor(dispatcher: Dispatcher, id: string) {
    this.id = id;
    this.#methods = dispatcher.methods;
  }

  /** Opens a session and waits for its first messages. */
  static async open(
    dispatcher: Dispatcher,
    id: string,
    description: unknown = { Hostname: id },
  ): Promise<DispatchedNode> {
    const node = new DispatchedNode(dispatcher, id);
    void node.#read({ description, addr: '' });
    await settled();
    return node;
  }

  get caller(): Caller {
    return { identity: { node: this.id, role: 'swarm-worker', cluster: 'c' }, address: '10.0.0.7' };
  }

  get session(): string {
    const [welcome] = this.told;
    return welcome?.kind === 'welcome' ? welcome.session : '';
  }

  get assignments(): Assignments[] {
    return this.told.flatMap((message) => (message.kind === 'assignments' ? [message.assignments] : []));
  }

  /** Ids of tasks that it was told in all messages, in order. */
  get tasks(): string[] {
    return this.assignments.flatMap(({ tasks }) => tasks.map(({ id }) => id));
  }

  heartbeat(): Promise<unknown> {
    return this.call('session.heartbeat', {});
  }

  report(...statuses: { id: string; state: TaskState; [field: string]: unknown }[]): Promise<unknown> {
    return this.call('session.report', {
      statuses: statuses.map((status) => ({ message: 'said', ...status })),
    });
  }

  async call(name: string, body: object): Promise<unknown> {
    const method = this.#methods.find((each) => each.name === name);
    if (method?.kind !== 'call') {
      throw new Error(`${name} is no call`);
    }
    return await method.handle({ session: this.session, ...body }, this.caller, this.#gone.signal);
  }

  async upload(name: string, values: AsyncIterable<unknown>): Promise<unknown> {
    const method = this.#methods.find((each) => each.name === name);
    if (method?.kind !== 'upload') {
      throw new Error(`${name} is no upload`);
    }
    return await method.handle(values, this.caller, this.#gone.signal);
  }

  /** The connection breaks. */
  async cut(): Promise<void> {
    this.#gone.abort();
    await settled();
  }

  async #read(body: unknown): Promise<void> {
    const open = this.#methods.find(({ name }) => name === 'session.open');
    try {
      if (open?.kind === 'stream') {
        for await (const message of open.handle(body, this.caller, this.#gone.signal)) {
          // The stream of sessions has these messages.
          this.told.push(message as SessionMessage);
        }
      }
      this.ended = 'ended';
    } catch (error) {
      this.ended = error instanceof Error ? error.message : String(error);
    }
  }
}

/** A manager's connection to another one, without a network. */
export function clientOf(dispatcher: Dispatcher, caller: Caller): RpcClient {
  const method = (name: string): Method => {
    const found = dispatcher.methods.find((each) => each.name === name);
    if (found === undefined) {
      throw new Error(`${name} is not served`);
    }
    return found;
  };
  return {
    addr: 'there',
    call: () => Promise.reject(new Error('not called here')),
    upload: () => Promise.reject(new Error('not called here')),
    stream: (name, body, signal) => {
      const found = method(name);
      if (found.kind !== 'stream') {
        throw new Error(`${name} is no stream`);
      }
      return found.handle(body, caller, signal);
    },
    [Symbol.dispose]: () => undefined,
  };
}
