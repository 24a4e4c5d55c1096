import { armHere } from '../../../support/fakes/failpoints.ts';
import { describe, expect, it } from 'vitest';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { bench } from './bench.ts';
import { context, copy, image, run } from './vertices.ts';

const chain = (): Vertex => run('two', run('one', image('debian')));
const ofContext = (session: string): Vertex => {
  const files = context(session);
  return run('after', run('mounted', copy(['a'], image('debian'), files), [copy(['b'], undefined, files)]));
};
const fromStage = (): Vertex => copy(['a'], image('debian'), run('make', image('base')));
const chainOf = (isFresh: boolean): Vertex => run('two', { ...run('one', image('debian')), isFresh });
const withFailure = (): Vertex =>
  run(
    'join',
    run('bad', image('debian')),
    [1, 2, 3, 4].map((n) => run(`good${n}`, image('other'))),
  );

describe('one build after another', () => {
  it('runs what is needed and takes all of it the second time', async () => {
    const { engine, build, expectNothingHeld } = bench();
    expect(await build(chain())).toEqual([
      'FROM debian started',
      'FROM debian completed',
      'FROM debian started',
      'FROM debian log',
      'FROM debian completed',
      'RUN one started',
      'RUN one log',
      'RUN one completed',
      'RUN two started',
      'RUN two log',
      'RUN two completed',
    ]);
    engine.ran.length = 0;
    expect(await build(chain())).toEqual([
      'FROM debian started',
      'FROM debian completed',
      'FROM debian cached',
      'RUN one cached',
      'RUN two cached',
    ]);
    expect(engine.ran).toEqual([]);
    await expectNothingHeld();
  });

  it('builds again only what reads a file that changed, whichever session has it', async () => {
    const { engine, build, expectNothingHeld } = bench();
    engine.contents.set(
      'context',
      new Map([
        ['a', '1'],
        ['b', '1'],
        ['c', '1'],
      ]),
    );
    await build(ofContext('s1'));
    engine.contents.set(
      'context',
      new Map([
        ['a', '1'],
        ['b', '1'],
        ['c', '2'],
      ]),
    );
    engine.ran.length = 0;
    await build(ofContext('s2'));
    expect(engine.ran).toEqual(['context']);
    engine.contents.set(
      'context',
      new Map([
        ['a', '1'],
        ['b', '2'],
        ['c', '2'],
      ]),
    );
    engine.ran.length = 0;
    await build(ofContext('s3'));
    expect(engine.ran).toEqual(['context', 'files', 'mounted', 'after']);
    await expectNothingHeld();
  });

  it('takes a copy from a stage whose base changed when the copied file did not', async () => {
    const { engine, build, expectNothingHeld } = bench();
    engine.contents.set(
      'base',
      new Map([
        ['a', '1'],
        ['version', '1'],
      ]),
    );
    await build(fromStage());
    engine.contents.set(
      'base',
      new Map([
        ['a', '1'],
        ['version', '2'],
      ]),
    );
    engine.ran.length = 0;
    expect(await build(fromStage())).toContain('COPY a cached');
    expect(engine.ran).toEqual(['base', 'make']);
    engine.ran.length = 0;
    await build(fromStage());
    expect(engine.ran).toEqual([]);
    await expectNothingHeld();
  });

  it('takes what another graph made of the same files, unless it is to be made anew', async () => {
    const { engine, build, expectNothingHeld } = bench();
    for (const name of ['one:1', 'two:1']) {
      engine.contents.set(name, new Map([['f', 'the same']]));
    }
    const made = (): string[] => engine.ran.filter((name) => name === 'make');
    await build(run('make', image('one:1')));
    expect(await build(run('make', image('two:1')))).toContain('RUN make cached');
    expect(await build(run('after', run('make', image('two:1'))))).toContain('RUN make cached');
    expect(made()).toHaveLength(1);
    await build({ ...run('make', image('two:1')), isFresh: true });
    expect(made()).toHaveLength(2);
    await expectNothingHeld();
  });

  it('makes a fresh stage anew, what stands on it too, and the next build takes these', async () => {
    const { engine, build, expectNothingHeld } = bench();
    await build(chainOf(false));
    engine.ran.length = 0;
    await build(chainOf(true));
    expect(engine.ran).toEqual(['one', 'two']);
    engine.ran.length = 0;
    await build(chainOf(false));
    expect(engine.ran).toEqual([]);
    await expectNothingHeld();
  });

  it('tells of the step that failed, keeps nothing of it, and ends the others', async () => {
    const { schedule, engine, ask, build, expectNothingHeld } = bench();
    engine.failing.add('bad');
    const { told, result } = ask(withFailure());
    await schedule.runOut();
    expect(await result).toEqual({ error: 'bad failed' });
    expect(told.words).toContain('RUN bad bad failed');
    expect(told.open.size).toBe(0);
    expect(told.words).not.toContain('RUN join started');
    engine.failing.clear();
    await build(withFailure());
    expect(engine.ran.filter((name) => name === 'bad')).toHaveLength(1);
    await expectNothingHeld();
  });

  it('gives back what could not be kept, and runs it again', async () => {
    const { schedule, engine, ask, build, expectNothingHeld } = bench();
    armHere('build.solver.store=error(no room)@2');
    const { result } = ask(chain());
    await schedule.runOut();
    armHere('');
    expect(await result).toEqual({ error: expect.stringContaining('no room') });
    await build(chain());
    expect(engine.ran).toEqual(['debian', 'one', 'one', 'two']);
    await expectNothingHeld();
  });

  it('names the copy whose files cannot be read', async () => {
    const { schedule, engine, ask, expectNothingHeld } = bench();
    engine.keys.ofContent = async () => {
      throw new Error('"/x": not found');
    };
    const { told, result } = ask(copy(['x'], undefined, context('s1')));
    await schedule.runOut();
    expect(await result).toEqual({ error: '"/x": not found' });
    expect(told.words.slice(-2)).toEqual(['COPY x started', 'COPY x "/x": not found']);
    await expectNothingHeld();
  });
});

describe('builds at the same time', () => {
  it('a build that leaves does not end what another waits for', async () => {
    const { schedule, engine, ask, expectNothingHeld } = bench();
    const one = ask(run('slow', image('debian')), 's1');
    const two = ask(run('slow', image('debian')), 's2');
    let turns = 0;
    await schedule.runOut(() => {
      turns += 1;
      if (one.told.words.includes('RUN slow started') && two.told.words.includes('RUN slow started')) {
        one.end.abort(new Error('left'));
      }
    });
    expect(turns).toBeGreaterThan(3);
    expect(await one.result).toEqual({ error: 'left' });
    expect(one.told.words.at(-1)).toBe('RUN slow context canceled');
    expect(await two.result).toBe('slow(base=debian)');
    expect(engine.ran).toEqual(['debian', 'slow']);
    await expectNothingHeld();
  });

  it('holds its promises in any order (200 seeds)', async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      await expectPromises(seed);
    }
  });
});

/** Some builds of one graph, some of which leave or fail: the others get what they would get alone. */
async function expectPromises(seed: number): Promise<void> {
  const random = new SeededRandom(seed * 7919);
  const { schedule, engine, ask, expectNothingHeld } = bench(seed);
  const [plan, targets] = planOf(random);
  if (random.below(3) === 0) {
    engine.failing.add(`step${random.below(plan.length)}`);
  }
  const builds = targets.map((target, index) => {
    const graph = plan.map(() => undefined as Vertex | undefined);
    plan.forEach((make, at) => (graph[at] = make(graph)));
    return { asked: ask(graph[target]!, `s${index}`), vertex: graph[target]! };
  });
  const leaving = new Set(builds.filter(() => random.below(3) === 0));
  await schedule.runOut(() => {
    for (const build of leaving) {
      if (random.below(8) === 0) {
        build.asked.end.abort(new Error('left'));
      }
    }
  });
  for (const build of builds) {
    const { asked, vertex } = build;
    // Nothing waits any more: a result that is still to come was lost.
    const result = await Promise.race([asked.result, new Promise(setImmediate).then(() => 'lost')]);
    const why = `seed ${seed}`;
    const hasLeft = asked.end.signal.aborted && typeof result !== 'string';
    if (hasLeft && result.error === 'left') {
      expect(leaving.has(build), why).toBe(true);
    } else {
      const failing = [...engine.failing].find((word) => needs(vertex, word));
      expect(result, why).toEqual(
        failing === undefined ? expectedOf(vertex) : { error: `${failing} failed` },
      );
    }
    expect(asked.told.open.size, why).toBe(0);
  }
  expect(engine.ran.length, `seed ${seed}: ${engine.ran.join()}`).toBe(new Set(engine.ran).size);
  await expectNothingHeld();
}

type MakeVertex = (graph: readonly (Vertex | undefined)[]) => Vertex;

function planOf(random: SeededRandom): [MakeVertex[], number[]] {
  const count = 3 + random.below(8);
  const plan = Array.from({ length: count }, (_, at): MakeVertex => {
    if (at < 2) {
      return () => image(`image${at}`);
    }
    const base = random.below(at);
    const mounted = Array.from({ length: random.below(3) }, () => random.below(at));
    return (graph) =>
      run(
        `step${at}`,
        graph[base],
        mounted.flatMap((from) => graph[from] ?? []),
      );
  });
  const targets = Array.from({ length: 2 + random.below(3) }, () => 2 + random.below(count - 2));
  return [plan, targets];
}

function needs({ op, inputs }: Vertex, word: string): boolean {
  const isIt = op.kind === 'exec' && op.argv[0] === word;
  return isIt || inputs.some((input) => input !== undefined && needs(input, word));
}

/** The output of a step, worked out alone. */
function expectedOf(vertex: Vertex): string {
  return filesOf(vertex).get('out') ?? '';
}

function filesOf({ op, inputs }: Vertex): Map<string, string> {
  if (op.kind !== 'exec') {
    return new Map([['base', op.kind === 'image' ? op.reference : '']]);
  }
  const trees = inputs.map((input) => (input === undefined ? new Map<string, string>() : filesOf(input)));
  const text = trees.map((tree) => [...tree].map((pair) => pair.join('=')).join(','));
  return new Map(trees[0]).set('out', `${op.argv.join(' ')}(${text.join('|')})`);
}
