import { unreachable } from '../../base/errors.ts';
import type { ExecMount, Op } from '../graph/op.ts';

/**
 * Positions of the inputs of which an operation reads files and keeps nothing else: there it is known by what it reads.
 * What a command writes into a mounted tree is gone after it. The tree at position 0 of `files` and `exec` is what the
 * result stands on, all of it.
 */
export function positionsRead(op: Op): number[] {
  switch (op.kind) {
    case 'files':
      return distinct(
        op.actions.flatMap((action) => [
          action.action === 'copy' ? action.from : 0,
          action.action === 'rm' ? 0 : (action.accounts ?? 0),
        ]),
      );
    case 'exec':
      return distinct(op.mounts.flatMap((mount) => (isRead(mount) ? [mount.from] : [])));
    case 'image':
    case 'layout':
    case 'local':
    case 'sent':
    case 'http':
    case 'git':
    case 'held':
    case 'merge':
    case 'diff':
    case 'result':
      return [];
    default:
      return unreachable(op);
  }
}

/** What becomes of a tree that is a result stands on all of it. */
function isRead(mount: ExecMount): mount is Extract<ExecMount, { type: 'bind' }> {
  return mount.type === 'bind' && mount.result === undefined && mount.isWhole !== true;
}

/** Numbers of the results that a command has beside its root, in order. */
export function resultsOf(op: Op): number[] {
  return op.kind === 'exec'
    ? op.mounts.flatMap((mount) => (mount.type === 'bind' ? (mount.result ?? []) : []))
    : [];
}

export function isSource({ kind }: Op): boolean {
  return ['image', 'layout', 'local', 'sent', 'http', 'git', 'held'].includes(kind);
}

function distinct(positions: readonly number[]): number[] {
  return [...new Set(positions)].filter((position) => position > 0).toSorted((a, b) => a - b);
}
