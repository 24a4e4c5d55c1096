import type { PartName } from './parts.ts';

/** Where parts stand: `TYPE/ID`, and what follows the id where an object has several parts. */
const PLACES: Readonly<Record<PartName, readonly [type: string, suffix: string]>> = {
  cluster: ['cluster', '/spec'],
  node: ['node', '/spec'],
  nodeState: ['node', '/state'],
  nodeDescription: ['node', '/desc'],
  service: ['service', '/spec'],
  previousService: ['service', '/prev'],
  serviceRun: ['service', '/run'],
  template: ['spec', ''],
  task: ['task', ''],
  status: ['status', ''],
  network: ['network', '/spec'],
  attachment: ['attachment', ''],
  nodeAddresses: ['node', '/addresses'],
  secret: ['secret', '/meta'],
  config: ['config', '/meta'],
};

/** By type: keys of tasks are read by the ten thousand. */
const PATTERNS = new Map<string, [PartName, RegExp][]>();
for (const [part, [type, suffix]] of Object.entries(PLACES)) {
  const id = type === 'spec' ? '([0-9a-z]+/[0-9]+)' : '([0-9a-z]+)';
  const ofType = PATTERNS.get(type) ?? [];
  // The names are those of the table.
  ofType.push([part as PartName, new RegExp(`^${type}/${id}${suffix}$`)]);
  PATTERNS.set(type, ofType);
}

/** The store's key of a part. */
export function keyOf(part: PartName, id: string): string {
  const [type, suffix] = PLACES[part];
  return `${type}/${id}${suffix}`;
}

/** The part that a key names; undefined for keys that hold something else (names, data, leases). */
export function partOf(key: string): { part: PartName; id: string } | undefined {
  for (const [part, pattern] of PATTERNS.get(key.slice(0, key.indexOf('/'))) ?? []) {
    const id = pattern.exec(key)?.[1];
    if (id !== undefined) {
      return { part, id };
    }
  }
  return undefined;
}
