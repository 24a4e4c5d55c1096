import { createHash } from 'node:crypto';

/**
 * The ids of a stack of layers, one for each depth (OCI image specification, "Layer ChainID"): the first is the diff
 * ID itself, each next one the digest of the one below and its own diff ID.
 */
export function chainIds(diffIds: readonly string[]): string[] {
  const chain: string[] = [];
  for (const diffId of diffIds) {
    const below = chain.at(-1);
    chain.push(
      below === undefined
        ? diffId
        : `sha256:${createHash('sha256').update(`${below} ${diffId}`).digest('hex')}`,
    );
  }
  return chain;
}
