import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OomWatch } from '../../../../runtime/monitor/oom-watch.ts';
import { sleep } from '../../../support/engine/http.ts';

let folder: string;
let counts: string;
let told: string[];
let watch: OomWatch;
let isStarving = false;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'berth-oom-'));
  counts = path.join(folder, 'memory.events');
  set({ max: 0, kills: 0 });
  told = [];
  isStarving = false;
});

afterEach(() => {
  watch[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

function set({ max, kills }: { max: number; kills: number }): void {
  writeFileSync(counts, `low 0\nmax ${max}\noom ${kills}\noom_kill ${kills}\n`);
}

function killsCounted(): number {
  return Number(/oom_kill (\d+)/.exec(readFileSync(counts, 'utf8'))?.[1]);
}

function watched(kind: 'marker' | 'counts', file: string): void {
  watch = new OomWatch({
    sign: () => ({ kind, file }),
    kills: killsCounted,
    isStarving: () => isStarving,
    log: pino({ level: 'silent' }),
  });
  watch.onOom((id, { hasKilled }) => told.push(hasKilled ? id : `${id} waits`));
  watch.expect('one');
}

test('counts: changes without a kill tell nothing and end nothing, each kill after them is told once', async () => {
  watched('counts', counts);
  for (let max = 1; max < 20; max += 1) {
    set({ max, kills: 0 });
    await sleep(5);
  }
  expect(told).toEqual([]);
  set({ max: 20, kills: 1 });
  await expect.poll(() => told).toEqual(['one']);
  set({ max: 21, kills: 1 });
  set({ max: 22, kills: 2 });
  await expect.poll(() => told).toEqual(['one', 'one']);
});

test('marker: a kill that comes a second after the sign is told', async () => {
  const marker = path.join(folder, 'oom');
  watched('marker', marker);
  writeFileSync(marker, '');
  await sleep(900);
  expect(told).toEqual([]);
  set({ max: 0, kills: 1 });
  await expect.poll(() => told).toEqual(['one']);
});

test('marker: with the killer switched off that the container waits is told, once for each time', async () => {
  const marker = path.join(folder, 'oom');
  watched('marker', marker);
  isStarving = true;
  writeFileSync(marker, '');
  await expect.poll(() => told).toEqual(['one waits']);
  writeFileSync(marker, '');
  await expect.poll(() => told).toEqual(['one waits', 'one waits']);
});

test('marker: that it is taken away is no sign', async () => {
  const marker = path.join(folder, 'oom');
  writeFileSync(marker, '');
  watched('marker', marker);
  isStarving = true;
  rmSync(marker);
  await sleep(100);
  expect(told).toEqual([]);
});
