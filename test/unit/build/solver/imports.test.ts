import { describe, expect, it } from 'vitest';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import type { SolverImports, VertexKeys } from '../../../../daemon/build/solver/ports.ts';
import { Solver } from '../../../../daemon/build/solver/solver.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { FakeEngine, FakeTree, Schedule, Told } from './fake-engine.ts';
import { context, copy, image, run } from './vertices.ts';

/** What one host has built, as a cache for another. */
class Elsewhere implements SolverImports<FakeTree> {
  readonly results: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly contentKeys = new Map<string, string>();
  readonly taken: string[] = [];
  isBroken = false;

  constructor(host: Host) {
    this.results = new Map([...host.engine.kept].map(([key, tree]) => [key, tree.files]));
    for (const { key, definitionKey, isLasting } of host.keys) {
      if (isLasting && definitionKey !== undefined && definitionKey !== key) {
        this.contentKeys.set(definitionKey, key);
      }
    }
  }

  findContentKey(definitionKey: string): string | undefined {
    return this.contentKeys.get(definitionKey);
  }

  find(key: string, { name }: Vertex): Promise<FakeTree | undefined> {
    const files = this.isBroken ? undefined : this.results.get(key);
    if (files !== undefined) {
      this.taken.push(name);
    }
    return Promise.resolve(files && new FakeTree(files));
  }
}

/** An engine with nothing in its cache. */
class Host {
  readonly schedule = new Schedule(new SeededRandom(7));
  readonly engine = new FakeEngine(this.schedule);
  readonly keys: VertexKeys[] = [];
  readonly #solver = new Solver<FakeTree>(this.engine);

  /** Answers the files of what was built. */
  async build(vertex: Vertex, imports?: SolverImports<FakeTree>): Promise<object> {
    const solving = this.#solver.solve([vertex], {
      session: 's1',
      progress: new Told(),
      signal: new AbortController().signal,
      keyed: (_vertex, keys) => this.keys.push(keys),
      ...(imports && { imports }),
    });
    await this.schedule.runOut();
    const [tree] = await solving;
    using held = tree;
    return Object.fromEntries(held?.files ?? []);
  }

  /** Commands and copies that were done, without sources. */
  get done(): string[] {
    return this.engine.ran.filter((name) => !['debian', 'base', 'context'].includes(name));
  }
}

const graph = (words: readonly string[] = ['make', 'test', 'pack']): Vertex => {
  const [make = '', test = '', pack = ''] = words;
  const made = run(make, image('base'));
  const tested = run(test, copy(['out'], image('debian'), made));
  return run(pack, tested, [copy(['a'], undefined, context('s1'))]);
};

describe('results of builds elsewhere', () => {
  it('are taken by a host that has none: nothing runs, and a stage that is copied from is not asked for', async () => {
    const first = new Host();
    const expected = await first.build(graph());
    const elsewhere = new Elsewhere(first);
    const second = new Host();
    expect(await second.build(graph(), elsewhere)).toEqual(expected);
    expect(second.done).toEqual([]);
    expect(elsewhere.taken).not.toContain('RUN make');
  });

  it('serve what has not changed, and nothing that stands on a change', async () => {
    for (const changed of [0, 1, 2]) {
      const first = new Host();
      await first.build(graph());
      const words = ['make', 'test', 'pack'].with(changed, 'other');
      const elsewhere = new Elsewhere(first);
      const second = new Host();
      const built = await second.build(graph(words), elsewhere);
      // As without any cache.
      expect(built).toEqual(await new Host().build(graph(words)));
      expect(second.done).toContain('other');
      const above = { 0: ['RUN make', 'RUN test', 'RUN pack'], 1: ['RUN test', 'RUN pack'], 2: ['RUN pack'] };
      above[changed as 0 | 1 | 2].forEach((name) => expect(elsewhere.taken).not.toContain(name));
    }
  });

  it('of another base, or of other files of the client, are not taken', async () => {
    for (const source of ['base', 'debian', 'context']) {
      const first = new Host();
      await first.build(graph());
      const elsewhere = new Elsewhere(first);
      const second = new Host();
      second.engine.contents.set(source, new Map([['a', 'changed']]));
      const alone = new Host();
      alone.engine.contents.set(source, new Map([['a', 'changed']]));
      expect([source, await second.build(graph(), elsewhere)]).toEqual([source, await alone.build(graph())]);
      expect(second.done).toContain('pack');
    }
  });

  it('are not taken for what is to be made anew', async () => {
    const first = new Host();
    await first.build(graph());
    const elsewhere = new Elsewhere(first);
    const second = new Host();
    const anew = graph();
    await second.build({ ...anew, isFresh: true }, elsewhere);
    expect(second.done).toContain('pack');
    expect(elsewhere.taken).not.toContain('RUN pack');
  });

  it('that cannot be had are made here', async () => {
    const first = new Host();
    const expected = await first.build(graph());
    const elsewhere = new Elsewhere(first);
    elsewhere.isBroken = true;
    const second = new Host();
    expect(await second.build(graph(), elsewhere)).toEqual(expected);
    expect(second.done).toEqual(expect.arrayContaining(['make', 'test', 'pack']));
  });

  it('files of a client give keys that last only by what is read of them', async () => {
    const host = new Host();
    await host.build(graph());
    const others = new Host();
    await others.build(graph());
    expect(host.keys.filter(({ isLasting }) => isLasting)).toEqual(
      others.keys.filter(({ isLasting }) => isLasting),
    );
    const mounted = new Host();
    await mounted.build(run('all', context('s1')));
    expect(mounted.keys).toMatchObject([{ isLasting: false }]);
  });
});
