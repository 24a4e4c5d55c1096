import type { HubRecord, RecordPage, Records } from '../port.ts';
import type { MovedRecord } from './local-set.ts';

/**
 * Where the records of a swarm came from, in a record of its own among them. A manager claims it before it brings its
 * records in, so there is one that does; until `isWhole` nobody uses them.
 */
export interface Origin {
  /** The node that brings them, and which of its moves. */
  node: string;
  move: string;
  isWhole: boolean;
  /** Of this record. */
  revision: number;
}

export const ORIGIN = 'origin/records';

export function originOf(record: HubRecord | undefined): Origin | undefined {
  // Moves alone write it.
  return record && { ...(record.value as Omit<Origin, 'revision'>), revision: record.revision };
}

/** All of a swarm's records but the origin. */
export async function allOf(records: Pick<Records, 'list'>): Promise<MovedRecord[]> {
  const all: MovedRecord[] = [];
  for (let after = ''; ;) {
    const page: RecordPage = await records.list('', { after });
    const last = page.records.at(-1);
    if (last === undefined) {
      return all;
    }
    all.push(...page.records.filter(({ key }) => key !== ORIGIN).map(({ key, value }) => ({ key, value })));
    after = last.key;
  }
}
