import type { BuildSession } from '../../../api/types/build/session.ts';
import { isEngineError } from '../../base/errors.ts';
import type { RootMaker } from '../../../storage/contexts/roots.ts';
import type { Unpacker } from '../../../storage/contexts/unpack.ts';
import type { EraseRequest } from '../../../storage/files/remove/erase.ts';
import type { TarRequest } from '../../../storage/files/jobs.ts';
import type { Selected, SelectRequest } from '../../../storage/files/select.ts';
import type { Spool, SpoolOptions } from '../../../storage/spool/spool.ts';
import type { Readable } from 'node:stream';
import type { CacheLayers } from '../cache/exchange/ports.ts';
import type { CacheMounts } from '../cache/cache-mounts.ts';
import type { BuildLayers } from '../ports.ts';
import type { HeldTrees } from '../snapshots/held-trees.ts';
import type { Contexts } from '../session/contexts.ts';
import type { Sessions } from '../session/sessions.ts';

/** Threads that walk files. Satisfied by `storage/files`. */
export interface OpArchives {
  place: Unpacker['archives']['place'];
  extract: Unpacker['archives']['extract'];
  select(request: SelectRequest, signal?: AbortSignal): Promise<Selected[]>;
  erase(request: EraseRequest, signal?: AbortSignal): Promise<number>;
  /** `done`: the descriptors of the request may be closed. */
  tar(request: TarRequest, done: () => void): Readable;
  /** Deletes a directory of ours with all below it. */
  remove(path: string): Promise<void>;
}

/** Mounts for commands. Satisfied by `runtime/mounts`. */
export interface OpMounts {
  hiddenView: RootMaker['mounts']['hiddenView'];
  scratchOverlay: RootMaker['mounts']['scratchOverlay'];
  overlay(
    layout: { lowers: string[]; upper: string; work: string; merged: string },
    options: { readonly: boolean },
  ): Promise<void>;
  bind(source: string, target: string): Promise<void>;
  secretTmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void>;
  unmount(path: string): Promise<void>;
}

/** What operations are done with. */
export interface OpDeps {
  layers: BuildLayers;
  sessions: Pick<Sessions, 'get'>;
  contexts: Contexts;
  caches: CacheMounts;
  held: HeldTrees;
  /** Layers that are elsewhere. */
  remoteLayers: Pick<CacheLayers, 'receive'>;
  archives: OpArchives;
  mounts: OpMounts;
  spools: RootMaker['spools'] &
    Unpacker['spools'] & { raw(source: Readable, options: SpoolOptions): Promise<Spool> };
  /** Ids of `user:group` by the account files below a root. Throws invalid_argument. */
  resolveUser(root: number, text: string): { uid: number; gid: number };
  /** The same as BuildKit does it: names that the files do not have, `unknown`, are root. */
  resolveOwner(root: number, text: string): { uid: number; gid: number; unknown: readonly string[] };
  /** Described devices of this host that a name of a build means. */
  devices: { find(asked: string): readonly { name: string; isAutoAllowed: boolean }[] };
  temporary: string;
  /** By which clients know this engine as a worker. */
  workerId: string;
}

/** The first session that answers: who waits longest is asked first. */
export async function sessionOf(
  sessions: Pick<Sessions, 'get'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<BuildSession> {
  return await sessions.get(ids[0] ?? '', signal);
}

/** A secret of the client; undefined = it has none by that id. */
export async function secretIfThere(
  session: BuildSession,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  try {
    return await session.secret(id, signal);
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}
