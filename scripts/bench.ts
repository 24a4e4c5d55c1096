/**
 * `npm run bench`: berthd and dockerd side by side on this machine, the same calls to both in turns, medians and
 * ratios against the targets. Needs root and Debian's docker.io. Each engine lives in a network namespace and
 * scratch folder of its own.
 *
 *   --only a,b   some workloads (see scripts/bench/workloads.ts)     --rounds N   instead of each workload's own
 *   --json       the results as JSON, for comparing runs             --engine X   berthd or dockerd alone
 *   --record     writes the results into ARCHITECTURE.md's table and the picture that README shows
 */
import { parseArgs } from 'node:util';
import { TestDaemon, type EngineKind } from '../test/support/engine/daemon.ts';
import { sleep } from '../test/support/engine/http.ts';
import { takeLoopDelay, type LoopDelay } from './bench/loop-delay.ts';
import { engineProcesses, peakRssKb, pssKb, resetPeak } from './bench/memory.ts';
import { forgetTarball } from './bench/images.ts';
import { forgetFilled } from './bench/registries.ts';
import { record } from './bench/record.ts';
import { median, printTable, type Result } from './bench/report.ts';
import type { Prepared, Workload } from './bench/workload.ts';
import { idleMemory, workloads } from './bench/workloads.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    json: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    engine: { type: 'string' },
  },
});

/** What berthd may take of its event loop and of memory in any workload. */
const LOOP_P99_MS_MAX = 20;
const PEAK_RSS_MB_MAX = 300;

async function main(): Promise<number> {
  const kinds = chosenEngines();
  if (flags.record && kinds.length < 2) {
    throw new Error('--record: both engines have to be measured, so no --engine');
  }
  const only = flags.only?.split(',');
  const known = [idleMemory.name, ...workloads.map(({ name }) => name)];
  const unknown = only?.filter((name) => !known.some((other) => other === name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`no workload ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  const daemons: TestDaemon[] = [];
  try {
    for (const engine of kinds) {
      daemons.push(await startEngine(engine));
    }
    const results: Result[] = [];
    if (only === undefined || only.includes(idleMemory.name)) {
      results.push(await measureIdle(daemons));
    }
    for (const workload of workloads.filter(({ name }) => only === undefined || only.includes(name))) {
      process.stderr.write(`${workload.name} ...\n`);
      results.push(await measure(workload, daemons));
    }
    if (flags.record) {
      record(results, known);
    }
    if (flags.json) {
      console.log(JSON.stringify(results, undefined, 2));
    } else {
      printTable(results);
    }
    return results.some(({ missed }) => missed) ? 1 : 0;
  } finally {
    await forgetFilled();
    forgetTarball();
    for (const daemon of daemons) {
      await daemon[Symbol.asyncDispose]();
    }
  }
}

function chosenEngines(): EngineKind[] {
  switch (flags.engine) {
    case undefined:
      return ['berthd', 'dockerd'];
    case 'berthd':
    case 'dockerd':
      return [flags.engine];
    default:
      throw new Error(`--engine ${flags.engine}: berthd or dockerd`);
  }
}

async function startEngine(engine: EngineKind): Promise<TestDaemon> {
  const daemon = await TestDaemon.start({ engine, watchLoop: true, config: { 'log-level': 'warn' } });
  await daemon.loadBusybox();
  return daemon;
}

/** Idle as a service is idle: the image is loaded, a first container has run, and everything has settled. */
async function measureIdle(daemons: readonly TestDaemon[]): Promise<Result> {
  await sleep(5000);
  const samples = new Map(daemons.map((daemon) => [daemon.engine, [pssKb(engineProcesses(daemon))]]));
  return toResult(idleMemory, samples, undefined);
}

async function measure(workload: Workload, all: readonly TestDaemon[]): Promise<Result> {
  const daemons = all.filter(({ engine }) => workload.engine === undefined || engine === workload.engine);
  const prepared = new Map<TestDaemon, Prepared>();
  for (const daemon of daemons) {
    prepared.set(daemon, (await workload.prepare?.(daemon)) ?? { ids: [] });
  }
  const samples = new Map<EngineKind, number[]>(daemons.map(({ engine }) => [engine, []]));
  const rounds = flags.rounds === undefined ? workload.rounds : Number(flags.rounds);
  const berthd = daemons.find(({ engine }) => engine === 'berthd');
  if (workload.rounds > 1) {
    await workload.reference?.();
    for (const daemon of daemons) {
      // The first time pays for caches: not what is measured.
      await workload.run(daemon, prepared.get(daemon) ?? { ids: [] });
    }
  }
  if (berthd) {
    await takeLoopDelay(berthd);
    resetPeak(berthd.pid);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const daemon of daemons) {
      samples.get(daemon.engine)?.push(await workload.run(daemon, prepared.get(daemon) ?? { ids: [] }));
    }
    if (workload.reference !== undefined) {
      samples.set('dockerd', [...(samples.get('dockerd') ?? []), await workload.reference()]);
    }
  }
  const side = berthd && { loopDelay: await takeLoopDelay(berthd), peakRssMb: peakRssKb(berthd.pid) / 1000 };
  for (const [daemon, { ids, end }] of prepared) {
    await Promise.all(ids.map((id) => daemon.http.ok('DELETE', `/containers/${id}?force=1`)));
    await end?.();
  }
  const result = toResult(workload, samples, side);
  const shortfall = workload.shortfall?.();
  if (shortfall !== undefined) {
    process.stderr.write(`${workload.name}: ${shortfall}\n`);
  }
  return { ...result, missed: result.missed || shortfall !== undefined };
}

function toResult(
  workload: Omit<Workload, 'run' | 'rounds'>,
  samples: ReadonlyMap<EngineKind, number[]>,
  side: { loopDelay: LoopDelay; peakRssMb: number } | undefined,
): Result {
  const { name, what, unit, target, max, maxMore } = workload;
  const berth = median(samples.get('berthd') ?? []);
  const docker = median(samples.get('dockerd') ?? []);
  const ratio = berth === undefined || docker === undefined ? undefined : berth / docker;
  const missed =
    (ratio !== undefined && target !== null && ratio > target) ||
    (berth !== undefined && max !== undefined && berth > max) ||
    (berth !== undefined && docker !== undefined && maxMore !== undefined && berth - docker > maxMore) ||
    (side !== undefined && (side.loopDelay.p99Ms > LOOP_P99_MS_MAX || side.peakRssMb > PEAK_RSS_MB_MAX));
  return {
    name,
    what,
    unit,
    target,
    berth,
    docker,
    ...(workload.reference !== undefined && { otherThanDocker: true }),
    ratio,
    loopDelayP99Ms: side?.loopDelay.p99Ms,
    peakRssMb: side?.peakRssMb,
    missed,
  };
}

process.exitCode = await main();
