import { createHash } from 'node:crypto';
import type { BuildDefinition, OperationNotes } from '../../../../api/types/build/definition.ts';
import { operation } from '../../../../daemon/build/llb/messages.ts';
import { asTheyAre } from '../../../../daemon/build/policy/named-source.ts';
import { readGraph } from '../../../../daemon/build/llb/read-graph.ts';

export const OWNER = {
  session: 's1',
  sharedKey: 'dir:node',
  platform: 'linux/amd64',
  entitlements: [],
  convert: asTheyAre,
};
export type Sent = Parameters<typeof operation.encode>[0];

export const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
export const on = (...below: Buffer[]): { digest: string }[] =>
  below.map((bytes) => ({ digest: digestOf(bytes) }));

/** A graph of these operations, the last of which is its result. */
export function graph(
  operations: readonly Buffer[],
  notes: Record<number, Partial<OperationNotes>> = {},
): BuildDefinition {
  const last = operations.at(-1);
  const all = last === undefined ? [] : [...operations, operation.encode({ inputs: on(last) })];
  return {
    operations: all,
    notes: new Map(
      Object.entries(notes).map(([index, note]) => [
        digestOf(operations[Number(index)] ?? Buffer.alloc(0)),
        { isFresh: false, description: new Map(), capabilities: [], ...note },
      ]),
    ),
    files: [{ name: 'Dockerfile', data: 'FROM x\n' }],
    places: new Map([[digestOf(operations[0] ?? Buffer.alloc(0)), [{ file: 0, from: 1, to: 2 }]]]),
  };
}

export const image = operation.encode({
  source: {
    identifier: 'docker-image://docker.io/library/debian:12',
    attrs: new Map([['image.resolvemode', 'pull']]),
  },
  platform: { os: 'linux', architecture: 'arm', variant: 'v7' },
});
export const local = operation.encode({
  source: {
    identifier: 'local://context',
    attrs: new Map([
      ['local.session', 'other'],
      ['local.unique', 'x'],
      ['local.followpaths', '["a","b"]'],
      ['local.excludepatterns', '["*.log"]'],
      ['local.sharedkeyhint', 'context'],
    ]),
  },
});
export const COPY = {
  followsSymlink: true,
  copiesContents: true,
  makesParents: true,
  allowsWildcard: true,
  allowsEmptyWildcard: true,
};

export const makeDirectory = { path: '/d', mode: 0o755, timestamp: -1n };
export const copy = { src: '/a', dest: '/b', mode: -1, timestamp: -1n, ...COPY };

export function read(...operations: Buffer[]): ReturnType<typeof readGraph> {
  return readGraph(graph(operations), OWNER);
}

export const root = { input: 0, dest: '/', output: 0 };
export const meta = { args: ['true'] };
