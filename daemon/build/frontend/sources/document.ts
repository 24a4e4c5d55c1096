import type { Vertex } from '../../graph/op.ts';

/** A file whose content stands in the Dockerfile, alone in a tree. */
export function document({ name, content }: { name: string; content: string }, mode: number): Vertex {
  return {
    op: { kind: 'files', actions: [{ action: 'mkfile', path: `/${name}`, content, mode, owner: '' }] },
    inputs: [undefined],
    name: '[internal] preparing inline document',
  };
}
