import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { PATIENCE, WAIT_MS } from './test/support/patience.ts';

/**
 * One project per kind of test (test/README.md says what each is for). `unit` and `api` need nothing and run side by
 * side. The others drive the real kernel: three files at a time of contract, system, client and fault tests, which have
 * daemons, namespaces and cgroups of their own and often wait, and all else one after another.
 */
const alone = { pool: 'forks', fileParallelism: false, maxWorkers: 1 } as const;
/** With two processors vitest would take one worker only. */
const sideBySide = { maxWorkers: Math.max(2, availableParallelism() - 1) };
/** Against hangs. A test may wait for several things in turn, each as long as WAIT_MS. */
const timeouts = { testTimeout: 120_000, hookTimeout: 120_000 };
const expect = { poll: { timeout: WAIT_MS } };
/** As a system service there is only one engine for all. */
const ownDaemons =
  process.env['BERTH_TEST_ENGINE'] === 'service' ? alone : ({ pool: 'forks', maxWorkers: 3 } as const);

/** Daemons of a swarm killed at each step: six minutes, and a command of their own. */
const STEPS_OF_A_SWARM = 'test/faults/swarm/*-steps.test.ts';
/** Debian with packages as an image, built, pushed and pulled: five minutes, and a command of its own. */
const DEBIAN_IMAGE = 'test/clients/debian-image.test.ts';
/** Ten Dockerfiles built by both engines and compared file by file: of that command, too. */
const PROJECTS = 'test/clients/projects/buildkit-projects.test.ts';

/** What takes long and finds little: `npm run test:long`. */
const LONG = readFileSync(new URL('test/long-files.txt', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.replace(/#.*/, '').trim())
  .filter((line) => line !== '');

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], ...sideBySide, expect, ...timeouts } },
      {
        test: {
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          pool: 'forks',
          ...sideBySide,
          expect,
          ...timeouts,
        },
      },
      {
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          exclude: LONG,
          ...ownDaemons,
          expect,
          ...timeouts,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: LONG,
          ...ownDaemons,
          expect,
          testTimeout: 120_000 * PATIENCE,
          hookTimeout: 120_000 * PATIENCE,
        },
      },
      {
        test: {
          name: 'clients',
          include: ['test/clients/**/*.test.ts'],
          exclude: [DEBIAN_IMAGE, PROJECTS, ...LONG],
          ...ownDaemons,
          expect,
          ...timeouts,
        },
      },
      {
        test: {
          name: 'vm',
          include: ['test/vm/**/*.test.ts'],
          ...alone,
          expect,
          testTimeout: 120_000 * PATIENCE,
          hookTimeout: 120_000 * PATIENCE,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          exclude: [STEPS_OF_A_SWARM, ...LONG],
          ...ownDaemons,
          expect,
          testTimeout: 900_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'long',
          include: LONG,
          ...ownDaemons,
          expect,
          testTimeout: 900_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'voting',
          include: ['test/voting/**/*.test.ts'],
          ...alone,
          expect,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: { name: 'debian', include: [DEBIAN_IMAGE, PROJECTS], ...alone, expect, ...timeouts },
      },
      {
        test: {
          name: 'steps',
          include: [STEPS_OF_A_SWARM],
          ...alone,
          expect,
          testTimeout: 900_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
