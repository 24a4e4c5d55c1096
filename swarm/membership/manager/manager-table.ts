import type { Reachability } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { keyChanged, type Cluster } from '../../cluster/cluster.ts';
import type { ManagerMember, Managers } from '../../control/ports.ts';
import { leaderOf } from '../../leader/start-leading.ts';
import { managerKey } from '../../objects/values.ts';
import type { ManagerAddress } from '../../protocol/session.ts';
import type { Dial } from '../../rpc/port.ts';
import type { Entry } from '../../store/port.ts';

const PREFIX = managerKey('');
const LOOK_MS = 3_000;
const ANSWER_MS = 2_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  cluster: Cluster;
  dial: Dial;
  node: string;
  addr: string;
  /** The newest that this manager has, by its id. */
  dataKey: () => number;
}

/** As each has made itself known. */
interface Announced {
  addr: string;
  dataKey?: number;
}

/** The managers as they have made themselves known, and whether they answer this one. */
export class ManagerTable implements Managers, Disposable {
  readonly #deps: Deps;
  readonly #known = new Map<string, Announced>();
  readonly #reachable = new Map<string, Reachability>();
  readonly #listeners = new Set<() => void>();
  readonly #subscription: Disposable;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    for (const entry of deps.cluster.values(PREFIX)) {
      this.#known.set(entry.key.slice(PREFIX.length), announced(entry));
    }
    this.#subscription = deps.cluster.subscribeValues((changes) => {
      const mine = changes.filter((change) => keyChanged(change).startsWith(PREFIX));
      for (const change of mine) {
        const node = keyChanged(change).slice(PREFIX.length);
        if (change.kind === 'put') {
          this.#known.set(node, announced(change.entry));
        } else {
          this.#known.delete(node);
        }
      }
      if (mine.length > 0) {
        this.#look();
        this.#tell();
      }
    });
    this.#look();
  }

  list(): readonly ManagerMember[] {
    const leader = leaderOf(this.#deps.cluster)?.node;
    return [...this.#known].map(([node, { addr }]) => ({
      node,
      addr,
      isLeader: node === leader,
      reachability: node === this.#deps.node ? 'reachable' : (this.#reachable.get(node) ?? 'unknown'),
    }));
  }

  addresses(): readonly ManagerAddress[] {
    return managersOf(this.#known);
  }

  /** With the newest data key of each; undefined where it has not said so. */
  dataKeys(): { node: string; dataKey: number | undefined; reachability: Reachability }[] {
    return this.list().map(({ node, reachability }) => ({
      node,
      reachability,
      dataKey: this.#known.get(node)?.dataKey,
    }));
  }

  /** Called when a manager has come, gone or moved. */
  subscribe(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Makes this manager known to nodes, and its newest data key to the leader. */
  async announce(): Promise<void> {
    const { cluster, node, addr } = this.#deps;
    const dataKey = this.#deps.dataKey();
    const known = this.#known.get(node);
    if (known?.addr !== addr || known.dataKey !== dataKey) {
      const value = Buffer.from(JSON.stringify({ addr, dataKey }));
      await cluster.commit({ conditions: [], values: [{ kind: 'put', key: managerKey(node), value }] });
      failpoint('swarm.membership.announced');
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
    this.#listeners.clear();
  }

  /** Asks all at once, now and after each `LOOK_MS`. */
  #look(): void {
    const { clock, node } = this.#deps;
    this.#timer?.[Symbol.dispose]();
    const others = [...this.#known].filter(([id]) => id !== node);
    const asked = Promise.all(others.map(([id, { addr }]) => this.#ask(id, addr))).finally(() => {
      if (!this.#isClosed) {
        // Another look may have begun meanwhile.
        this.#timer?.[Symbol.dispose]();
        this.#timer = clock.setTimeout(() => this.#look(), LOOK_MS);
      }
    });
    void asked.catch((error: unknown) => {
      this.#deps.logger.error(
        { error: errorText(error) },
        'whether managers answer is not looked at any more',
      );
    });
  }

  async #ask(node: string, addr: string): Promise<void> {
    using client = this.#deps.dial(addr);
    const answers = await client.call('manager.ping', undefined, { timeoutMs: ANSWER_MS }).then(
      () => true,
      () => false,
    );
    this.#reachable.set(node, answers ? 'reachable' : 'unreachable');
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

/** As the store has them. */
export function managersIn(cluster: Cluster): ManagerAddress[] {
  const entries = [...cluster.values(PREFIX)];
  return managersOf(entries.map((entry) => [entry.key.slice(PREFIX.length), announced(entry)]));
}

function managersOf(known: Iterable<[string, Announced]>): ManagerAddress[] {
  return [...known].map(([node, { addr }]) => ({ node, addr }));
}

function announced({ value }: Entry): Announced {
  // Written by managers, in `announce`.
  return JSON.parse(value.toString()) as Announced;
}
