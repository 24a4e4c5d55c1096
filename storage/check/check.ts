import { setTimeout as sleep } from 'node:timers/promises';
import { checkContainers, checkTemporary, checkVolumes, type MakeRootfs } from './containers.ts';
import type { Finding } from './finding.ts';
import { checkImages } from './images.ts';
import { checkLayerLeftovers, checkLayers } from './layers.ts';
import { checkDatabase, checkRecords } from './records.ts';
import type { Store } from './store.ts';

/** A finding, and what became of it. */
export interface Reported extends Omit<Finding, 'repair'> {
  /** `found`: nothing was tried. `remains`: the administrator has to do what `outcome` says. */
  state: 'found' | 'repaired' | 'remains';
  outcome?: string;
}

/** Told what is being looked at, and of long steps how much of them is done, from 0 to 1. */
export type TellProgress = (what: string, share?: number) => void;

interface Step {
  what: string;
  look(store: Store): Finding[] | Promise<Finding[]>;
}

/** Time for a change that a daemon had half done. */
const SECOND_LOOK_MS = 500;

/**
 * Looks through a data root, from the database to the files, and with `repair` puts right what it can, each step before
 * the next one looks. Beside a daemon only what is still there at a second look counts.
 */
export async function* checkStore(
  store: Store,
  {
    repair,
    makeRootfs,
    databaseProblems,
    progress,
  }: {
    repair: boolean;
    makeRootfs: MakeRootfs;
    databaseProblems: readonly string[];
    progress: TellProgress;
  },
): AsyncGenerator<Reported> {
  const steps: Step[] = [
    { what: 'database', look: (where) => checkDatabase(where, databaseProblems) },
    { what: 'records', look: checkRecords },
    { what: 'images', look: checkImages },
    { what: 'layers', look: (where) => checkLayers(where, (share) => progress('layers', share)) },
    { what: 'containers', look: (where) => checkContainers(where, makeRootfs) },
    { what: 'volumes', look: checkVolumes },
    { what: 'left-overs of layers', look: checkLayerLeftovers },
    { what: 'temporary files', look: checkTemporary },
  ];
  for (const step of steps) {
    progress(step.what);
    const findings = store.isInUse ? await twice(store, step) : await step.look(store);
    for (const finding of findings) {
      yield repair ? await repaired(finding) : told(finding, 'found');
    }
  }
}

async function twice(store: Store, step: Step): Promise<Finding[]> {
  store.records.refresh();
  const first = await step.look(store);
  if (first.length === 0) {
    return first;
  }
  await sleep(SECOND_LOOK_MS);
  store.records.refresh();
  const again = await step.look(store);
  const keys = new Set(again.map(({ subject, problem }) => `${subject}: ${problem}`));
  return first.filter(({ subject, problem }) => keys.has(`${subject}: ${problem}`));
}

async function repaired(finding: Finding): Promise<Reported> {
  if (finding.repair === undefined) {
    return told(finding, 'remains', finding.remedy);
  }
  const { isWhole, text } = await finding.repair();
  return told(finding, isWhole ? 'repaired' : 'remains', text);
}

function told(finding: Finding, state: Reported['state'], outcome?: string): Reported {
  const { kind, subject, problem, remedy } = finding;
  return { kind, subject, problem, remedy, state, ...(outcome !== undefined && { outcome }) };
}
