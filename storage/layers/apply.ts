import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { LayerApplier } from './applier.ts';
import { RecipeWriter } from './recipe.ts';
import { decompressRange, rangeFormat, readRange, type BlobRange } from './source.ts';
import { TarParser } from '../tar/parser.ts';
import { LayerTree } from './tree.ts';

export interface ApplyRequest {
  blob: BlobRange;
  /** An existing empty directory of ours; gets `diff` and `recipe`. */
  directory: string;
  /** Begins error messages: `layer sha256:12ab...`. */
  what: string;
  /** sha256:... of the uncompressed tar; undefined = not known, every content is right. */
  expectedDiffId?: string;
  /** sha256:... of the blob as it is stored. */
  expectedDigest?: string;
}

export interface AppliedLayer {
  diffId: string;
  digest: string;
  tarBytes: number;
  /** Bytes of all files' content. */
  contentBytes: number;
  /** Directories (byte strings) that the tar did not describe; `''` is the root. */
  implied: string[];
  warnings: string[];
}

/** What a caller on another thread sees and says while a layer is applied. */
export interface ApplyControl {
  isCanceled(): boolean;
  /** Bytes of the blob read so far. */
  progress(bytes: number): void;
}

/** Names inside a layer's directory. */
export const DIFF = 'diff';
export const RECIPE = 'recipe';

/**
 * Unpacks one layer into `directory/diff` and writes its recipe, digests checked. Runs in a worker: it blocks. Leaves
 * a half-filled directory when it throws; the caller removes it.
 * Throws EngineError invalid_argument when the layer is at fault, resource_exhausted when the disk is about to fill.
 */
export async function applyLayer(request: ApplyRequest, control: ApplyControl): Promise<AppliedLayer> {
  const { blob, directory, what } = request;
  const diff = join(directory, DIFF);
  mkdirSync(diff, { mode: 0o755 });
  failpoint('images.load.layer');
  const recipeFd = openSync(join(directory, RECIPE), 'wx', 0o600);
  try {
    using tree = new LayerTree(diff);
    const recipe = new RecipeWriter(recipeFd);
    const applier = new LayerApplier(tree, recipe, what);
    let result: Digests;
    try {
      result = await feed(request, applier, control);
    } finally {
      if (applier.openFile !== undefined) {
        closeSync(applier.openFile);
      }
    }
    checkDigests(request, result);
    applier.finish();
    recipe.finish(result.tarBytes);
    if (tree.replaced) {
      // The files no longer tell what the tar held: the recipe becomes the tar itself.
      await writeVerbatim(directory, blob, what, result.tarBytes);
    }
    const { contentBytes } = applier;
    return { ...result, contentBytes, implied: [...tree.implied], warnings: tree.warnings };
  } finally {
    closeSync(recipeFd);
  }
}

interface Digests {
  diffId: string;
  digest: string;
  tarBytes: number;
}

/** Pushes the blob through the parser, hashing what is stored and what comes out. */
async function feed(request: ApplyRequest, applier: LayerApplier, control: ApplyControl): Promise<Digests> {
  const { what, directory } = request;
  const parser = new TarParser(applier, what);
  const stored = createHash('sha256');
  const unpacked = createHash('sha256');
  let read = 0;
  const reserve = new DiskReserve(
    () => freeBytesOf(directory),
    `${what}: no space left on device (${directory})`,
  );
  const seen = (chunk: Buffer): void => {
    if (control.isCanceled()) {
      throw new EngineError('canceled', `${what}: canceled`);
    }
    read += chunk.length;
    control.progress(read);
  };
  const take = (chunk: Buffer): void => {
    reserve.check(parser.position);
    unpacked.update(chunk);
    parser.push(chunk);
  };
  const format = rangeFormat(request.blob, what);
  if (format !== undefined) {
    const seenStored = (chunk: Buffer): void => {
      seen(chunk);
      stored.update(chunk);
    };
    for await (const chunk of decompressRange(request.blob, format, { what, seen: seenStored })) {
      take(chunk);
    }
  } else {
    for (const chunk of readRange(request.blob, what)) {
      seen(chunk);
      take(chunk);
    }
  }
  parser.end();
  const diffId = `sha256:${unpacked.digest('hex')}`;
  const digest = format === undefined ? diffId : `sha256:${stored.digest('hex')}`;
  return { diffId, digest, tarBytes: parser.position };
}

function checkDigests(request: ApplyRequest, found: Digests): void {
  const { expectedDigest, expectedDiffId, what } = request;
  if (expectedDigest !== undefined && expectedDigest !== found.digest) {
    throw invalidArgument(`${what}: digest mismatch: expected ${expectedDigest}, got ${found.digest}`);
  }
  if (expectedDiffId !== undefined && expectedDiffId !== found.diffId) {
    throw invalidArgument(`${what}: diffID mismatch: expected ${expectedDiffId}, got ${found.diffId}`);
  }
}

function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

async function writeVerbatim(
  directory: string,
  blob: BlobRange,
  what: string,
  tarBytes: number,
): Promise<void> {
  const fd = openSync(join(directory, RECIPE), 'w', 0o600);
  try {
    const recipe = new RecipeWriter(fd);
    const format = rangeFormat(blob, what);
    const chunks = format === undefined ? readRange(blob, what) : decompressRange(blob, format, { what });
    for await (const chunk of chunks) {
      recipe.raw(chunk);
    }
    recipe.finish(tarBytes);
  } finally {
    closeSync(fd);
  }
}
