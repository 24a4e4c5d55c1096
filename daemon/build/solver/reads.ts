import { unreachable } from '../../base/errors.ts';
import type { Op } from '../graph/op.ts';

/**
 * Positions of the inputs of which an operation reads files and keeps nothing else: there it is known by what it reads.
 * What a command writes into a mounted tree is gone after it. The tree at position 0 of `files` and `exec` is what the
 * result stands on, all of it.
 */
export function positionsRead(op: Op): number[] {
  switch (op.kind) {
    case 'files':
      return distinct(op.actions.flatMap((action) => (action.action === 'copy' ? [action.from] : [])));
    case 'exec':
      return distinct(op.mounts.flatMap((mount) => (mount.type === 'bind' ? [mount.from] : [])));
    case 'image':
    case 'local':
    case 'sent':
    case 'http':
    case 'git':
    case 'held':
    case 'merge':
      return [];
    default:
      return unreachable(op);
  }
}

export function isSource({ kind }: Op): boolean {
  return ['image', 'local', 'sent', 'http', 'git', 'held'].includes(kind);
}

function distinct(positions: readonly number[]): number[] {
  return [...new Set(positions)].filter((position) => position > 0).toSorted((a, b) => a - b);
}
