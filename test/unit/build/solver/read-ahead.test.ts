import { describe, expect, it } from 'vitest';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { bench } from './bench.ts';
import { context, copy, image, run } from './vertices.ts';

const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8];
const STAGES = NUMBERS.map((number) => `stage${number}`);

const stage = (number: number, word = `stage${number}`): Vertex => run(word, image(`base${number}`));

/** Eight stages, the results of which a last one copies one after the other. */
function copies(base?: Vertex, firstWord = 'stage1'): Vertex {
  const first = copy(['out'], base, stage(1, firstWord));
  const made = NUMBERS.slice(1).reduce<Vertex>((on, number) => copy(['out'], on, stage(number)), first);
  return run('last', made);
}

const ofClient = (session: string): Vertex => copies(copy(['a'], image('debian'), context(session)));

describe('stages that a chain of copies reads', () => {
  it('run side by side, and so does what the copies stand on', async () => {
    const { schedule, engine, ask, expectNothingHeld } = bench(1, 9);
    const words = [...STAGES, 'packages'];
    words.forEach((word) => engine.waiting.add(word));
    const { told, result } = ask(copies(run('packages', image('debian'))));
    await schedule.runOut();
    expect(told.words.filter((word) => word.startsWith('RUN')).toSorted()).toEqual(
      words.flatMap((word) => [`RUN ${word} log`, `RUN ${word} started`]).toSorted(),
    );
    engine.waiting.clear();
    await schedule.runOut();
    expect(await result).toMatch(/^last\(/);
    expect(engine.ran.filter((word) => words.includes(word)).toSorted()).toEqual(words.toSorted());
    await expectNothingHeld();
  });

  it('are read as they come, while the first of them is still made', async () => {
    const { schedule, engine, ask, expectNothingHeld } = bench(2, 8);
    const read: string[] = [];
    const { ofContent } = engine.keys;
    engine.keys.ofContent = async (vertex, position, tree, signal) => {
      read.push(vertex.inputs[position]?.name ?? '');
      return await ofContent(vertex, position, tree, signal);
    };
    engine.waiting.add('stage1');
    const { result } = ask(copies());
    await schedule.runOut();
    expect(read.toSorted()).toEqual(STAGES.slice(1).map((word) => `RUN ${word}`));
    engine.waiting.clear();
    await schedule.runOut();
    expect(await result).toMatch(/^last\(/);
    expect(read.toSorted()).toEqual(STAGES.map((word) => `RUN ${word}`));
    await expectNothingHeld();
  });

  it('keep to the limit of what runs at once', async () => {
    const { engine, build, expectNothingHeld } = bench(3, 2);
    await build(copies());
    expect(engine.ran.filter((word) => word.startsWith('stage')).toSorted()).toEqual(STAGES);
    await expectNothingHeld();
  });

  it('do not run where the copies are in the cache, though their own results are not there any more', async () => {
    const { engine, build, expectNothingHeld } = bench();
    engine.contents.set('context', new Map([['a', '1']]));
    await build(ofClient('s1'));
    engine.keepLastAlone();
    engine.ran.length = 0;
    const words = await build(ofClient('s2'));
    expect(engine.ran).toEqual(['context']);
    expect(words.filter((word) => word.includes('stage') && !word.endsWith(' cached'))).toEqual([]);
    await expectNothingHeld();
  });

  it('run alone where one of them changed', async () => {
    const { engine, build, expectNothingHeld } = bench();
    await build(copies());
    engine.contents.set('base8', new Map([['base', 'newer']]));
    engine.ran.length = 0;
    await build(copies());
    expect(engine.ran.filter((word) => word !== 'files')).toEqual(['base8', 'stage8', 'last']);
    await expectNothingHeld();
  });

  it('are left where one of them came to the same and the copies are there', async () => {
    const { schedule, engine, ask, build, expectNothingHeld } = bench();
    await build(copies());
    engine.keepLastAlone();
    // Another command that makes the same file.
    engine.sameAs.set('renamed', 'stage1');
    STAGES.forEach((word) => engine.waiting.add(word));
    engine.ran.length = 0;
    const { told, result } = ask(copies(undefined, 'renamed'));
    await schedule.runOut();
    expect(await result).toMatch(/^last\(/);
    expect(engine.ran.filter((word) => word.startsWith('stage'))).toEqual([]);
    expect(told.words).toContain('RUN last cached');
    expect(told.open.size).toBe(0);
    await expectNothingHeld();
  });

  it('end with the one that fails, which is told once', async () => {
    const { schedule, engine, ask, expectNothingHeld } = bench(5, 8);
    engine.failing.add('stage5');
    STAGES.forEach((word) => engine.waiting.add(word));
    const { told, result } = ask(copies());
    await schedule.runOut();
    engine.waiting.delete('stage5');
    await schedule.runOut();
    expect(await result).toEqual({ error: 'stage5 failed' });
    expect(told.words.filter((word) => word.endsWith('failed'))).toEqual(['RUN stage5 stage5 failed']);
    expect(told.words.filter((word) => word.endsWith('context canceled'))).toHaveLength(7);
    await expectNothingHeld();
  });
});
