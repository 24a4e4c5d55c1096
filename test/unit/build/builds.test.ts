import { expect, test } from 'vitest';
import { Builds, type BuildsDeps } from '../../../daemon/build/control/builds.ts';
import type { SolveRequest } from '../../../api/types/build/ports.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';

const SIGNAL = new AbortController().signal;

/** Of a frontend that is not there: it is over at once. */
const REQUEST: SolveRequest = {
  ref: 'b1',
  session: 's1',
  frontend: 'other.v0',
  attributes: new Map(),
  exporters: [],
  cacheExports: [],
  cacheImports: [],
  entitlements: [],
  inputs: new Map(),
  isInternal: false,
  hasSessionExporters: false,
  policySession: '',
  policies: [],
  trace: undefined,
};

function builds(clock: ManualClock): Builds {
  const deps = {
    classic: { refuseNames: () => undefined },
    keeper: { collectSoon: () => undefined },
    layers: { idle: () => Promise.resolve() },
    entitlements: new Set(['network.host']),
    history: { begin: () => () => Promise.resolve(), log: () => undefined },
    clock,
    log: silentLogger,
  };
  // A build that is refused needs nothing else.
  return new Builds(deps as unknown as BuildsDeps);
}

async function told(all: Builds, ref: string): Promise<number> {
  let count = 0;
  for await (const _ of all.status(ref, SIGNAL)) {
    count += 1;
  }
  return count;
}

test('who asks for the progress of a build that has just ended is answered, and no longer after a while', async () => {
  const clock = new ManualClock();
  const all = builds(clock);
  await expect(all.solve(REQUEST, SIGNAL)).rejects.toThrow('frontend other.v0 is not supported');
  expect(await told(all, 'b1')).toBe(0);
  await clock.advance(limits.buildEndedKeptMs);
  const late = told(all, 'b1');
  const refused = expect(late).rejects.toThrow('no such build: b1');
  await clock.advance(limits.sessionWaitMs);
  await refused;
});

test('of builds that have ended only so many are kept', async () => {
  const clock = new ManualClock();
  const all = builds(clock);
  for (let number = 0; number <= limits.buildsEndedMax; number += 1) {
    await expect(all.solve({ ...REQUEST, ref: `b${number}` }, SIGNAL)).rejects.toThrow('other.v0');
  }
  expect(await told(all, 'b1')).toBe(0);
  const refused = expect(told(all, 'b0')).rejects.toThrow('no such build: b0');
  await clock.advance(limits.sessionWaitMs);
  await refused;
});
