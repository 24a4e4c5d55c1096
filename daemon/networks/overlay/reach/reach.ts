/** What is asked in this turn, and whether some host is reached now that was not, or not any more. */
export interface Turn {
  ask: string[];
  /** Hosts. */
  changed: string[];
}

/** Chooses from tasks those that take new connections. */
export interface Serving {
  of<Item extends { nodeAddr: string }>(ready: readonly Item[]): readonly Item[];
}

/** Where nobody asks hosts: all of them. */
export const ALL_SERVE: Serving = { of: (ready) => ready };

interface Host {
  /** One that never did may just not answer such questions. */
  hasAnswered: boolean;
  /** Questions since its last answer. */
  unanswered: number;
}

/**
 * Which other hosts of the swarm can be reached from here, by what they answer. Managers find that a node is lost
 * after three heartbeats, and not at all while nobody leads: until then each connection to one of its tasks would
 * hang. Pure; hosts are addresses as managers tell them.
 */
export class Reach implements Serving {
  readonly #limits: { askedPerTurnMax: number; unansweredMax: number };
  readonly #hosts = new Map<string, Host>();
  readonly #silent = new Set<string>();

  constructor(limits: { askedPerTurnMax: number; unansweredMax: number }) {
    this.#limits = limits;
  }

  /** Without those of hosts that are silent; all of them where none are left: it may be this host's fault. */
  of<Item extends { nodeAddr: string }>(ready: readonly Item[]): readonly Item[] {
    if (this.#silent.size === 0) {
      return ready;
    }
    const heard = ready.filter(({ nodeAddr }) => !this.#silent.has(nodeAddr));
    return heard.length === 0 ? ready : heard;
  }

  isSilent(host: string): boolean {
    return this.#silent.has(host);
  }

  /** Nothing is known of hosts any more. Answers those that were silent. */
  clear(): string[] {
    const silent = [...this.#silent];
    this.#silent.clear();
    this.#hosts.clear();
    return silent;
  }

  /** `wanted`: hosts with tasks. `answered`: those that have answered since the turn before. */
  turn(wanted: ReadonlySet<string>, answered: readonly string[]): Turn {
    const changed: string[] = [];
    for (const host of this.#hosts.keys()) {
      if (!wanted.has(host)) {
        this.#hosts.delete(host);
        this.#silent.delete(host);
      }
    }
    for (const host of answered.filter((each) => wanted.has(each))) {
      // It keeps its place in the line.
      this.#hosts.set(host, { hasAnswered: true, unanswered: 0 });
      if (this.#silent.delete(host)) {
        changed.push(host);
      }
    }
    for (const host of wanted) {
      if (!this.#hosts.has(host)) {
        this.#hosts.set(host, { hasAnswered: false, unanswered: 0 });
      }
    }
    const ask = [...this.#hosts.keys()].slice(0, this.#limits.askedPerTurnMax);
    for (const host of ask) {
      changed.push(...this.#ask(host));
    }
    return { ask, changed };
  }

  /** Answers the host when it is silent from now on. It goes to the end of the line. */
  #ask(host: string): string[] {
    const { hasAnswered = false, unanswered = 0 } = this.#hosts.get(host) ?? {};
    this.#hosts.delete(host);
    this.#hosts.set(host, { hasAnswered, unanswered: unanswered + 1 });
    if (!hasAnswered || unanswered < this.#limits.unansweredMax || this.#silent.has(host)) {
      return [];
    }
    this.#silent.add(host);
    return [host];
  }
}
