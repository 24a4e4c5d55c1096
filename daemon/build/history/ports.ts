import type { BuildUpdate } from '../../../api/types/build/status.ts';
import type { ProvenImage } from '../attest/attestations.ts';

/** What is stored is what clients are sent. Satisfied by `api/buildkit`. */
export interface HistoryCodec {
  /** One message of a build's progress. */
  update(update: BuildUpdate): Buffer;
  /** In terms of gRPC; `bytes`: the same with its details. */
  error(error: unknown): { code: number; message: string; bytes: Buffer };
}

/** What became of a build. */
export interface BuildEnd {
  updates: readonly BuildUpdate[];
  response: ReadonlyMap<string, string>;
  /** What its frontend was asked for last; undefined = nothing beside what the build began with. */
  asked: { frontend: string; options: ReadonlyMap<string, string> } | undefined;
  images: readonly (ProvenImage & { platform: string })[];
  /** Undefined: it went well. */
  error?: unknown;
}
