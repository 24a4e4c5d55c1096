import { createHash } from 'node:crypto';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import type {
  HeldTree,
  RunContext,
  SolveProgress,
  SolverDeps,
} from '../../../../daemon/build/solver/ports.ts';
import type { SeededRandom } from '../../../support/seeded-random.ts';

/** Work that waits until the test lets it go on, in an order of a seed. */
export class Schedule {
  readonly #waiting: (() => void)[] = [];
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Ends with the signal, a turn later, as work that looks at it now and then. */
  async point(signal?: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    signal?.throwIfAborted();
  }

  /** Until nothing waits any more. `between` acts at a moment of its own choice. */
  async runOut(between: () => void = () => undefined): Promise<void> {
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      between();
      const [next] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
      next?.();
      await new Promise(setImmediate);
    }
  }
}

export class FakeTree implements HeldTree {
  readonly files: ReadonlyMap<string, string>;
  holds = 1;

  constructor(files: ReadonlyMap<string, string>) {
    this.files = files;
  }

  hold(): this {
    if (this.holds === 0) {
      throw new Error('a tree that nobody held was held');
    }
    this.holds += 1;
    return this;
  }

  [Symbol.dispose](): void {
    this.holds -= 1;
    if (this.holds < 0) {
      throw new Error('a tree was given back twice');
    }
  }
}

/**
 * Sources hold the files of `contents`. A command writes a file `out` of its argv and of the trees mounted, a copy
 * writes the files that it names.
 */
export class FakeEngine implements SolverDeps<FakeTree> {
  readonly runsMax: number;
  readonly contents = new Map<string, ReadonlyMap<string, string>>();
  /** First words of commands that fail. */
  readonly failing = new Set<string>();
  /** First words of commands that do not go on before they are taken from here. */
  readonly waiting = new Set<string>();
  /** Commands that make what another one makes. */
  readonly sameAs = new Map<string, string>();
  readonly ran: string[] = [];
  readonly kept = new Map<string, FakeTree>();
  readonly faults: string[] = [];
  readonly trees: FakeTree[] = [];
  readonly #links = new Map<string, string>();
  readonly #contentKeys = new Map<string, string>();
  readonly #running = new Set<string>();
  readonly #schedule: Schedule;

  constructor(schedule: Schedule, runsMax = 3) {
    this.#schedule = schedule;
    this.runsMax = runsMax;
  }

  keys = {
    ofSource: async (vertex: Vertex, { signal }: RunContext) => {
      await this.#schedule.point(signal);
      const files = [...this.#sourceFiles(vertex)].flat().join(' ');
      const session = vertex.op.kind === 'local' ? ` of ${vertex.op.session}` : '';
      return { key: `${nameOf(vertex)} ${files}${session}`, isLasting: vertex.op.kind !== 'local' };
    },
    ofOperation: ({ op }: Vertex, inputs: readonly (string | undefined)[]) =>
      createHash('sha256')
        .update(JSON.stringify([op, inputs]))
        .digest('hex'),
    ofResults: (
      vertex: Vertex,
      known: readonly (string | undefined)[],
      inputs: readonly (HeldTree | undefined)[],
    ): string => {
      const results = inputs.map((tree, at) =>
        at === 0 && tree instanceof FakeTree ? textOf(tree.files) : known[at],
      );
      return `results ${this.keys.ofOperation(vertex, results)}`;
    },
    ofContent: async ({ op }: Vertex, position: number, tree: HeldTree, signal: AbortSignal) => {
      await this.#schedule.point(signal);
      if (!(tree instanceof FakeTree) || tree.holds === 0) {
        throw new Error('a tree is read that nobody holds');
      }
      const read = op.kind === 'files' ? copied(op, position) : [...tree.files.keys()];
      return JSON.stringify(read.map((name) => [name, tree.files.get(name)]));
    },
  };

  cache = {
    find: async (key: string) => {
      await this.#schedule.point();
      return (this.kept.get(key) ?? this.kept.get(this.#links.get(key) ?? ''))?.hold();
    },
    link: (other: string, key: string) => {
      this.#links.set(other, key);
    },
    store: async (key: string, tree: FakeTree) => {
      await this.#schedule.point();
      this.kept.get(key)?.[Symbol.dispose]();
      this.kept.set(key, tree.hold());
    },
    findContentKey: (key: string) => this.#contentKeys.get(key),
    storeContentKey: (key: string, contentKey: string) => {
      this.#contentKeys.set(key, contentKey);
    },
  };

  ops = {
    run: async (vertex: Vertex, inputs: readonly (FakeTree | undefined)[], context: RunContext) => {
      const name = `${nameOf(vertex)} ${inputs.map((tree) => textOf(tree?.files)).join('|')}`;
      if (vertex.isFresh !== true && this.#running.has(name)) {
        this.faults.push(`${name} runs twice at once`);
      }
      this.#running.add(name);
      if (this.#running.size > this.runsMax) {
        this.faults.push(`${this.#running.size} run at once`);
      }
      try {
        await this.#schedule.point(context.signal);
        context.log(1, Buffer.from(name));
        await this.#turn(vertex, context.signal);
        await this.#schedule.point(context.signal);
        if (inputs.some((tree) => tree?.holds === 0)) {
          this.faults.push(`${name} reads a tree that nobody holds`);
        }
        if (vertex.op.kind === 'exec' && this.failing.has(vertex.op.argv[0] ?? '')) {
          throw new Error(`${vertex.op.argv[0]} failed`);
        }
        this.ran.push(nameOf(vertex));
        const tree = new FakeTree(this.#filesOf(vertex, inputs));
        this.trees.push(tree);
        return tree;
      } finally {
        this.#running.delete(name);
      }
    },
  };

  /** Of the results that were kept only the one made last stays. */
  keepLastAlone(): void {
    const last = this.trees.at(-1);
    for (const [key, tree] of this.kept) {
      if (tree !== last) {
        this.kept.delete(key);
        tree[Symbol.dispose]();
      }
    }
  }

  /** Without a point of the schedule, which would never run out. */
  async #turn({ op }: Vertex, signal: AbortSignal): Promise<void> {
    const word = op.kind === 'exec' ? (op.argv[0] ?? '') : '';
    while (this.waiting.has(word)) {
      signal.throwIfAborted();
      await new Promise(setImmediate);
    }
  }

  #filesOf(vertex: Vertex, inputs: readonly (FakeTree | undefined)[]): ReadonlyMap<string, string> {
    const { op } = vertex;
    const files = new Map(inputs[0]?.files);
    if (op.kind === 'exec') {
      const text = inputs.map((tree) => textOf(tree?.files)).join('|');
      const words = op.argv.join(' ');
      return files.set('out', `${this.sameAs.get(words) ?? words}(${text})`);
    }
    if (op.kind === 'files') {
      for (const action of op.actions) {
        for (const name of action.action === 'copy' ? action.sources : []) {
          files.set(name, (action.action === 'copy' && inputs[action.from]?.files.get(name)) || 'none');
        }
      }
      return files;
    }
    return this.#sourceFiles(vertex);
  }

  #sourceFiles(vertex: Vertex): ReadonlyMap<string, string> {
    return this.contents.get(nameOf(vertex)) ?? new Map([['base', nameOf(vertex)]]);
  }
}

/** What a build was told, as words. */
export class Told implements SolveProgress {
  readonly words: string[] = [];
  readonly open = new Set<Vertex>();
  started = (vertex: Vertex): void => {
    this.open.add(vertex);
    this.words.push(`${vertex.name} started`);
  };
  cached = (vertex: Vertex): void => void this.words.push(`${vertex.name} cached`);
  completed = (vertex: Vertex, error?: string): void => {
    this.open.delete(vertex);
    this.words.push(`${vertex.name} ${error ?? 'completed'}`);
  };
  log = (vertex: Vertex): void => void this.words.push(`${vertex.name} log`);
  work = (): void => undefined;
}

function nameOf({ op }: Vertex): string {
  if (op.kind === 'image') {
    return op.reference;
  }
  if (op.kind === 'local') {
    return op.name;
  }
  return op.kind === 'exec' ? op.argv.join(' ') : op.kind;
}

function copied(op: Extract<Vertex['op'], { kind: 'files' }>, position: number): string[] {
  return op.actions.flatMap((action) =>
    action.action === 'copy' && action.from === position ? [...action.sources] : [],
  );
}

function textOf(files: ReadonlyMap<string, string> = new Map()): string {
  return [...files].map(([name, content]) => `${name}=${content}`).join(',');
}
