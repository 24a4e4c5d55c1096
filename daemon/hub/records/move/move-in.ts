import { randomUUID } from 'node:crypto';
import { EngineError, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RecordChange, Records } from '../port.ts';
import type { LocalSet, MovedRecord } from './local-set.ts';
import { allOf, ORIGIN, originOf, type Origin } from './origin.ts';

export interface MoveInDeps {
  /** Nobody changes them any more. */
  local: LocalSet;
  /** Of the swarm. */
  shared: Records;
  /** Ids of this node and of its swarm. */
  node: string;
  cluster: string;
  /** False for a node that was removed from the swarm. */
  isNode(node: string): boolean;
  /** Brings along what is no record, before anybody uses the records. May be called again. */
  bring: () => Promise<void>;
  log: Logger;
}

/**
 * Resolves when the records of the swarm may be used by this manager. The first manager brings in what its host has.
 * A host that comes later keeps its own aside: ids on both sides count from 1, so that accounts and tokens of one
 * would be those of another. May be ended anywhere, also by a kill, and be called again.
 *
 * @throws unavailable while another manager brings its records in.
 */
export async function moveIn(deps: MoveInDeps): Promise<void> {
  const { local, shared, node, log } = deps;
  for (;;) {
    const origin = originOf(await shared.get(ORIGIN));
    try {
      if (origin === undefined) {
        await claim(deps);
      } else if (origin.isWhole) {
        settle(deps, origin);
        return;
      } else if (origin.node === node && origin.move === local.move) {
        await copy(deps, origin);
      } else if (origin.node !== node && deps.isNode(origin.node)) {
        throw new EngineError(
          'unavailable',
          `the records of the hub are being brought into the swarm by node ${origin.node}`,
        );
      } else {
        log.warn({ node: origin.node }, 'half of the records of a hub is removed: its node is gone');
        await forget(shared, origin);
      }
    } catch (error) {
      // Another manager was faster: its origin counts.
      if (!isEngineError(error, 'conflict')) {
        throw error;
      }
    }
  }
}

async function claim({ local, shared, node }: MoveInDeps): Promise<void> {
  const move = randomUUID();
  local.begin(move);
  failpoint('hub.move.begun');
  const value = { node, move, isWhole: !local.hasAccounts };
  await shared.update([{ kind: 'put', key: ORIGIN, value, expected: 0 }]);
  failpoint('hub.move.claimed');
}

async function copy({ local, shared, log, bring }: MoveInDeps, origin: Origin): Promise<void> {
  const check = { kind: 'check', key: ORIGIN, expected: origin.revision } as const;
  let count = 0;
  for (const some of batches(local.below(''))) {
    await shared.update([check, ...some.map(({ key, value }) => ({ kind: 'put' as const, key, value }))]);
    failpoint('hub.move.copied');
    count += some.length;
  }
  await bring();
  failpoint('hub.move.brought');
  const value = { node: origin.node, move: origin.move, isWhole: true };
  await shared.update([{ kind: 'put', key: ORIGIN, value, expected: origin.revision }]);
  failpoint('hub.move.whole');
  log.info({ records: count }, 'the records of the hub are in the swarm now');
}

/** What the host has is what it has brought in, or has taken out of this swarm and not used; or its own. */
function settle({ local, cluster, log }: MoveInDeps, origin: Origin): void {
  if (origin.move === local.move || local.copyOf === cluster) {
    local.clear();
    failpoint('hub.move.cleared');
  } else if (local.hasAccounts) {
    log.warn(
      { accounts: local.accountNames.slice(0, limits.hubNamesSaid) },
      'the hub of this host had accounts before: they are kept aside while the host is in the swarm',
    );
  }
}

async function forget(shared: Records, { revision }: Origin): Promise<void> {
  const keys = (await allOf(shared)).map(({ key }) => key);
  const check = { kind: 'check', key: ORIGIN, expected: revision } as const;
  for (let from = 0; from < keys.length; from += limits.hubChangesAtOnce) {
    const some = keys.slice(from, from + limits.hubChangesAtOnce);
    await shared.update([check, ...some.map((key): RecordChange => ({ kind: 'delete', key }))]);
    failpoint('hub.move.forgotten');
  }
  await shared.update([{ kind: 'delete', key: ORIGIN, expected: revision }]);
}

/** As many as one update takes. */
export function* batches(records: Iterable<MovedRecord>): Generator<MovedRecord[]> {
  let some: MovedRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record.value));
    if (
      some.length === limits.hubChangesAtOnce ||
      (some.length > 0 && bytes + size > limits.hubRecordBytesMax)
    ) {
      yield some;
      [some, bytes] = [[], 0];
    }
    some.push(record);
    bytes += size;
  }
  if (some.length > 0) {
    yield some;
  }
}
