import type { Stored } from './store.ts';

/** A task as the store's keys say it; what no node has said yet follows from its record. */
export interface StoredTask {
  id: string;
  service: string;
  slot: number | undefined;
  node: string | undefined;
  desired: string;
  state: string;
  container: string;
  /** Of record and status, the newer one. */
  revision: number;
}

/** Numbers of the store are those of swarmkit (api/types.proto); written down again, so that no mistake is shared. */
export const STATES: Readonly<Record<number, string>> = {
  0: 'new',
  64: 'pending',
  192: 'assigned',
  256: 'accepted',
  320: 'preparing',
  384: 'ready',
  448: 'starting',
  512: 'running',
  576: 'complete',
  640: 'shutdown',
  704: 'failed',
  768: 'rejected',
  800: 'remove',
  832: 'orphaned',
};

/** Values of keys `TYPE/ID/SUFFIX`, or `TYPE/ID`, by id. */
export function valuesOf(
  stored: ReadonlyMap<string, Stored>,
  type: string,
  suffix = '',
): Map<string, { value: Fields; revision: number }> {
  const pattern = new RegExp(`^${type}/([^/]+)${suffix}$`);
  const found = new Map<string, { value: Fields; revision: number }>();
  for (const { key, text, revision } of stored.values()) {
    const id = pattern.exec(key)?.[1];
    if (id !== undefined) {
      // Parts of objects are JSON.
      found.set(id, { value: JSON.parse(Buffer.from(text, 'latin1').toString()) as Fields, revision });
    }
  }
  return found;
}

/** What a part of an object holds, as far as the oracle looks at it. */
export interface Fields {
  [name: string]: unknown;
  spec?: { Name?: string; Mode?: unknown; Role?: string; Availability?: string };
  name?: string;
  service?: string;
  slot?: number;
  node?: string;
  pinned?: string;
  desired?: number;
  state?: number | string;
  refusal?: { state: number };
  container?: { id: string };
}

export function tasksIn(stored: ReadonlyMap<string, Stored>): StoredTask[] {
  const statuses = valuesOf(stored, 'status');
  return [...valuesOf(stored, 'task')].map(([id, { value, revision }]) => {
    const status = statuses.get(id);
    const unsaid = value.node === undefined ? (value.refusal?.state ?? 64) : 192;
    return {
      id,
      service: value.service ?? '',
      slot: value.slot,
      node: value.node ?? value.pinned,
      desired: STATES[value.desired ?? -1] ?? 'none',
      state: STATES[Number(status?.value.state ?? unsaid)] ?? 'none',
      container: status?.value.container?.id ?? '',
      revision: Math.max(revision, status?.revision ?? 0),
    };
  });
}

/** What in the store has lost what it belongs to. */
export function orphansIn(stored: ReadonlyMap<string, Stored>): string[] {
  const tasks = valuesOf(stored, 'task');
  const services = valuesOf(stored, 'service', '/spec');
  const owners: [kind: string, ids: Iterable<string>, owners: ReadonlyMap<string, unknown>][] = [
    ['the status of task', valuesOf(stored, 'status').keys(), tasks],
    ['a run of service', valuesOf(stored, 'service', '/run').keys(), services],
    ['the state of node', valuesOf(stored, 'node', '/state').keys(), valuesOf(stored, 'node', '/spec')],
    ...(['secret', 'config'] as const).map(
      (kind): [string, Iterable<string>, ReadonlyMap<string, unknown>] => [
        `data of ${kind}`,
        [...stored.keys()].flatMap((key) => new RegExp(`^${kind}/([^/]+)/data$`).exec(key)?.[1] ?? []),
        valuesOf(stored, kind, '/meta'),
      ],
    ),
  ];
  return [
    ...owners.flatMap(([kind, ids, owner]) =>
      [...ids].filter((id) => !owner.has(id)).map((id) => `${kind} ${id} is left in the store`),
    ),
    ...[...tasks]
      .filter(([, { value }]) => !services.has(value.service ?? ''))
      .map(([id]) => `task ${id} is of no service`),
    ...namesIn(stored, services),
  ];
}

/** Each service is found by its name, and each name leads to one. */
function namesIn(
  stored: ReadonlyMap<string, Stored>,
  services: ReadonlyMap<string, { value: Fields }>,
): string[] {
  const prefix = 'name/service/';
  const taken = [...stored.values()]
    .filter(({ key }) => key.startsWith(prefix))
    .map(({ key, text }) => `${Buffer.from(key.slice(prefix.length), 'base64url').toString()} ${text}`);
  const wanted = [...services].map(([id, { value }]) => `${value.spec?.Name} ${id}`);
  return differing('names of services in the store', taken, wanted);
}

/** What is in one list alone, in a sentence for each. */
export function differing(what: string, found: readonly string[], wanted: readonly string[]): string[] {
  return [
    ...found.filter((each) => !wanted.includes(each)).map((each) => `${what}: ${each} is too much`),
    ...wanted.filter((each) => !found.includes(each)).map((each) => `${what}: ${each} is missing`),
  ];
}
