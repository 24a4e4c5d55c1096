import { failpoint } from '../../../base/failpoint.ts';
import type { Records } from '../port.ts';
import type { LocalSet, MovedRecord } from './local-set.ts';
import { allOf, ORIGIN, originOf } from './origin.ts';

interface Deps {
  local: LocalSet;
  /** Of the swarm, which nobody uses any more. */
  shared: Records;
  cluster: string;
  /** Writes down the host's own records of before, durably: both cannot be in use. */
  saveAside: (records: readonly MovedRecord[]) => Promise<void>;
  /** Takes along what is no record. `isOrigin`: this host has brought the records in. */
  take: (isOrigin: boolean) => void;
  node: string;
}

/**
 * Takes the records out of a swarm that ends with this manager. What the host kept aside goes into a file. May be
 * ended anywhere, and be called again.
 *
 * @returns How many there are; undefined = the host's own records have not left it.
 */
export async function moveOut({
  local,
  shared,
  node,
  cluster,
  saveAside,
  take,
}: Deps): Promise<number | undefined> {
  const origin = originOf(await shared.get(ORIGIN));
  if (origin?.isWhole !== true) {
    return undefined;
  }
  const records = await allOf(shared);
  const isOwn = origin.move !== local.move && local.copyOf !== cluster && local.hasAccounts;
  if (isOwn) {
    await saveAside([...local.below('')]);
    failpoint('hub.move.saved');
  }
  take(origin.node === node);
  failpoint('hub.move.taken');
  local.replace(records, cluster);
  failpoint('hub.move.out');
  return records.length;
}
