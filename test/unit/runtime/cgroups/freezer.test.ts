import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CgroupLayout } from '../../../../runtime/cgroups/detect.ts';
import { Freezer } from '../../../../runtime/cgroups/freezer.ts';

let root: string;
let layout: CgroupLayout;
const file = (name: string): string => join(root, 'c', name);

/** What version 2 shows of a cgroup; here the files are plain ones, and the test is the kernel. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-freezer-'));
  layout = { version: 2, controllers: new Map(), unified: root };
  mkdirSync(join(root, 'c'));
  writeFileSync(file('cgroup.freeze'), '0\n');
  writeFileSync(file('cgroup.events'), 'populated 1\nfrozen 0\n');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

test('freezer: version 2 is frozen when the kernel says so, not when it was asked to be', async () => {
  const freezer = new Freezer(layout, '/c');
  expect(freezer.state()).toBe('thawed');
  const frozen = freezer.freeze();
  expect(readFileSync(file('cgroup.freeze'), 'utf8').trim()).toBe('1');
  expect(freezer.state()).toBe('changing');
  writeFileSync(file('cgroup.events'), 'populated 1\nfrozen 1\n');
  await frozen;
  expect(freezer.state()).toBe('frozen');
  freezer.thaw();
  expect(freezer.state()).toBe('thawed');
});

test('freezer: what does not stop in time is thawed again', async () => {
  const freezer = new Freezer(layout, '/c');
  await expect(freezer.freeze()).rejects.toThrow('did not stop within 2000 ms');
  expect(freezer.state()).toBe('thawed');
});

test('freezer: a cgroup that is gone does not run', async () => {
  const freezer = new Freezer(layout, '/gone');
  await expect(freezer.freeze()).rejects.toThrow('not running');
  expect(() => freezer.thaw()).not.toThrow();
  expect(freezer.state()).toBe('thawed');
});

test('freezer: a host without one says so', () => {
  expect(() => new Freezer({ version: 1, controllers: new Map(), unified: null }, '/c')).toThrow(
    'no freezer',
  );
});
