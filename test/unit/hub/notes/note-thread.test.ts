import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { titleOf } from '../../../../daemon/hub/notes/document/document.ts';
import { NoteThread, startWorker } from '../../../../daemon/hub/notes/reader/note-thread.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { processorTime } from '../../../support/processor-time.ts';

/** Says that it is ready, and does then what it is told by `work` for ever, or until it dies. */
function worker(work: string, isReady = true): Worker {
  const start = `const { parentPort } = require('node:worker_threads');
    ${isReady ? `parentPort.on('message', () => { ${work} }); parentPort.postMessage({ kind: 'ready' });` : work}`;
  return new Worker(start, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16 } });
}

/** A reader whose first threads are `first`, and all others right ones. */
function thread(...first: (() => Worker)[]) {
  const clock = new ManualClock();
  let started = 0;
  const reader = new NoteThread({
    clock,
    log: silentLogger,
    start: () => {
      started += 1;
      return (first[started - 1] ?? startWorker)();
    },
  });
  onTestFinished(() => reader[Symbol.dispose]());
  return { reader, clock, count: () => started };
}

const NOTE = '---\ntags: [a]\n---\n# Right\n';
const RIGHT = { document: { metadata: { tags: ['a'] }, text: '# Right\n', markdown: NOTE } };
const TOO_MUCH = { problems: [{ field: 'markdown', code: 'unprocessable' }] };

test('notes are read, unpacked and rendered on the thread, one after another', async () => {
  const { reader, count } = thread();
  const made = await Promise.all([
    reader.read({ markdown: NOTE }),
    reader.unpack(Buffer.from('{"tags":["a"]}'), Buffer.from(NOTE)),
    reader.render('# <b>'),
    reader.read({ metadata: { owner: 'me' } }),
  ]);
  expect(made).toEqual([
    RIGHT,
    RIGHT,
    '<div class="prose"><h3>&lt;b&gt;</h3>\n</div>',
    { problems: [expect.objectContaining({ field: 'owner', value: 'me' })] },
  ]);
  expect(count()).toBe(1);
});

test.each([
  ['a loop', 'for (;;);'],
  // As of the title of a note once: four kilobytes of blanks took 52 seconds.
  ['an expression that goes back and back', '/^(a+)+$/.test("a".repeat(60) + "b");'],
])('a note that takes too long, by %s, ends the thread, and the next one is read', async (_what, work) => {
  const began: (() => void)[] = [];
  const isBusy = new Promise<void>((resolve) => began.push(resolve));
  const { reader, clock, count } = thread(() => {
    const busy = worker(work);
    busy.on('message', () => setTimeout(() => began[0]?.(), 100));
    return busy;
  });
  const [late, next] = [reader.read({ markdown: NOTE }), reader.read({ markdown: NOTE })];
  await isBusy;
  await clock.advance(limits.hubNoteWorkMs);
  expect(await late).toMatchObject(TOO_MUCH);
  expect(await next).toEqual(RIGHT);
  expect(count()).toBe(2);
});

test('what takes too long to be rendered is not, and is shown as text', async () => {
  const { reader, clock } = thread(() => worker('for (;;);'));
  const rendered = reader.render('x');
  // Its time begins when the thread is ready.
  await expect.poll(() => clock.pendingMs.length).toBe(1);
  await clock.advance(limits.hubNoteWorkMs);
  expect(await rendered).toBeUndefined();
});

test('a note that takes too much memory ends its thread only', async () => {
  const { reader } = thread(() => worker('const all = []; for (;;) { all.push(new Array(1e4).fill({})); }'));
  const [large, next] = [reader.read({ markdown: NOTE }), reader.read({ markdown: NOTE })];
  expect(await large).toMatchObject(TOO_MUCH);
  expect(await next).toEqual(RIGHT);
});

test('a thread that does not start is told, and the next note gets another one', async () => {
  const { reader } = thread(() => worker('process.exit(3);', false));
  await expect(reader.read({ markdown: NOTE })).rejects.toMatchObject({ code: 'unavailable' });
  expect(await reader.read({ markdown: NOTE })).toEqual(RIGHT);
});

test('as many notes wait as may, and none after the end', async () => {
  const { reader } = thread(() => worker('for (;;);'));
  const waiting = Array.from({ length: limits.hubNotesWaitingMax }, () => reader.render('x'));
  await expect(reader.render('x')).rejects.toThrow('are waiting to be read already');
  reader[Symbol.dispose]();
  const ended = await Promise.allSettled(waiting);
  expect(ended.every(({ status }) => status === 'rejected')).toBe(true);
  await expect(reader.render('x')).rejects.toMatchObject({ code: 'unavailable' });
});

test('a title is found at once, whatever stands in its line', () => {
  const blanks = ' '.repeat(limits.hubNoteTitleSearched - 4);
  const tookMs = processorTime();
  expect(titleOf({ metadata: {}, text: `# a${blanks}b` })).toHaveLength(limits.hubNoteTitleMax);
  expect(titleOf({ metadata: {}, text: `# a${'#'.repeat(4_000)}b` })).toHaveLength(limits.hubNoteTitleMax);
  expect(titleOf({ metadata: {}, text: `# a${' #'.repeat(2_000)}` })).toMatch(/^a #/);
  expect(tookMs()).toBeLessThan(1_000);
});
