import { createHash } from 'node:crypto';
import { operation } from './messages.ts';

/** Of identifiers that only this engine knows. */
export const RESULT_SCHEME = 'berth-result';

/**
 * A result of a build as a graph that its client may hand back as an input of another: one source, which names a held
 * tree, and the end. `digest` is that of the source. Pure.
 */
export function resultDefinition(id: string): { operations: readonly Buffer[]; digest: string } {
  const source = operation.encode({ source: { identifier: `${RESULT_SCHEME}://${id}` } });
  const digest = `sha256:${createHash('sha256').update(source).digest('hex')}`;
  return { operations: [source, operation.encode({ inputs: [{ digest }] })], digest };
}
