import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OomCounts } from '../../../../runtime/cgroups/oom-counts.ts';

let slice = '';
beforeEach(() => {
  slice = mkdtempSync(join(tmpdir(), 'berth-oom-'));
});
afterEach(() => rmSync(slice, { recursive: true }));

/** Writes counts as the kernel does: the sum of the slice is given, because it outlives its parts. */
function counts(total: number, scopes: Record<string, number | 'gone'>): void {
  writeFileSync(join(slice, 'memory.events'), `low 0\nmax 7\noom 3\noom_kill ${total}\n`);
  for (const [name, kills] of Object.entries(scopes)) {
    const folder = join(slice, name);
    rmSync(folder, { recursive: true, force: true });
    if (kills !== 'gone') {
      mkdirSync(folder);
      writeFileSync(join(folder, 'memory.events'), `oom 1\noom_kill ${kills}\noom_group_kill 0\n`);
    }
  }
}

function expecting(...scopes: string[]): OomCounts {
  const counted = new OomCounts();
  scopes.forEach((scope) => counted.expect(join(slice, scope)));
  return counted;
}

test('a kill is known while the cgroup stands, and when it is gone', () => {
  const counted = expecting('a', 'b');
  counts(1, { a: 1, b: 0 });
  expect(counted.killedIn(join(slice, 'a'))).toBe(true);
  counts(2, { a: 'gone', b: 'gone' });
  expect(counted.killedIn(join(slice, 'b'))).toBe(true);
});

test('kills of an ended container are not the next one’s, however soon its cgroup goes', () => {
  const counted = expecting('a', 'b', 'c');
  counts(1, { a: 1, b: 0, c: 0 });
  expect(counted.killedIn(join(slice, 'a'))).toBe(true);
  expect(counted.killedIn(join(slice, 'b'))).toBe(false);
  counts(1, { a: 'gone', b: 'gone', c: 'gone' });
  expect(counted.killedIn(join(slice, 'c'))).toBe(false);
});

test('kills in a container that goes on are its own', () => {
  const counted = expecting('a', 'b');
  counts(2, { a: 2, b: 'gone' });
  expect(counted.killedIn(join(slice, 'b'))).toBe(false);
  counts(2, { a: 'gone' });
  expect(counted.killedIn(join(slice, 'a'))).toBe(true);
});

test('kills before the first look belong to nobody', () => {
  counts(5, { a: 0 });
  const counted = expecting('a');
  counts(5, { a: 'gone' });
  expect(counted.killedIn(join(slice, 'a'))).toBe(false);
});

test('the answer stays the same until the cgroup is made anew', () => {
  const counted = expecting('a');
  counts(1, { a: 1 });
  expect([counted.killedIn(join(slice, 'a')), counted.killedIn(join(slice, 'a'))]).toEqual([true, true]);
  counts(1, { a: 'gone' });
  expect(counted.killedIn(join(slice, 'a'))).toBe(true);
  counted.expect(join(slice, 'a'));
  expect(counted.killedIn(join(slice, 'a'))).toBe(false);
});

test('a host that does not count has nothing to tell', () => {
  const counted = expecting('a');
  expect(counted.killedIn(join(slice, 'a'))).toBe(false);
});
