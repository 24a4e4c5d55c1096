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

const PATTERNS = Object.entries(PLACES).map(([part, [type, suffix]]) => {
  const id = type === 'spec' ? '([0-9a-z]+/[0-9]+)' : '([0-9a-z]+)';
  // The names are those of the table.
  return [part as PartName, new RegExp(`^${type}/${id}${suffix}$`)] as const;
});

/** The store's key of a part. */
export function keyOf(part: PartName, id: string): string {
  const [type, suffix] = PLACES[part];
  return `${type}/${id}${suffix}`;
}

/** The part that a key names; undefined for keys that hold something else (names, data, leases). */
export function partOf(key: string): { part: PartName; id: string } | undefined {
  for (const [part, pattern] of PATTERNS) {
    const id = pattern.exec(key)?.[1];
    if (id !== undefined) {
      return { part, id };
    }
  }
  return undefined;
}
