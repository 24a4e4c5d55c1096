import { createHash } from 'node:crypto';
import { ftruncateSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, errnoOf, errorText } from '../../daemon/base/errors.ts';
import { LayerApplier } from './applier.ts';
import { DIFF } from './apply.ts';
import { writeLayerTar } from './replay.ts';
import { TarChunks } from '../tar/chunks.ts';
import { showName } from '../tar/names.ts';
import { TarParser, type TarMember, type TarSink } from '../tar/parser.ts';
import { LayerTree } from './tree.ts';

/** What a layer's recipe and files say, read to the end. */
export interface Unfolded {
  /** sha256:... of the tar they make; null when the recipe itself cannot be read. */
  diffId: string | null;
  /** Sentences about the recipe and about files that it needs. */
  problems: string[];
  /** Bytes of all files' content. */
  contentBytes: number;
  /** Directories that the tar did not describe. */
  implied: string[];
  /** A member replaced another one: then the recipe holds the contents itself. */
  isReplaced: boolean;
}

/**
 * Reads a layer's tar back and makes its tree once more below `target` (an existing empty directory), as unpacking it
 * would: what the layer must look like. Without `contents` its files have only their sizes. Blocks.
 * Throws what the disk below `target` says; damage of the layer is told in the answer.
 */
export function unfoldLayer(
  directory: string,
  target: string,
  { contents, what }: { contents: boolean; what: string },
): Unfolded {
  mkdirSync(join(target, DIFF), { mode: 0o755 });
  using tree = new LayerTree(join(target, DIFF));
  const recipe = { raw: () => undefined, content: () => undefined, sparse: () => undefined };
  const applier = new LayerApplier(tree, recipe, what);
  const parser = new TarParser(contents ? applier : new Skeleton(applier), what);
  const hash = createHash('sha256');
  const problems: string[] = [];
  let diffId: string | null = null;
  try {
    const output = new TarChunks((chunk) => {
      hash.update(chunk);
      parser.push(chunk);
    });
    writeLayerTar(directory, output, (path, why) => {
      problems.push(`${showName(path)} ${why}`);
    });
    parser.end();
    tree.finish();
    diffId = `sha256:${hash.digest('hex')}`;
  } catch (error) {
    problems.push(recipeProblem(directory, error));
  }
  const { contentBytes } = applier;
  return { diffId, problems, contentBytes, implied: [...tree.implied], isReplaced: tree.replaced };
}

/** What the readers of recipes and of tars say of wrong bytes. */
const OF_RECIPE = new Set(['internal', 'invalid_argument']);

/** Errors of our own side, as a full disk, are no damage of the layer. */
function recipeProblem(directory: string, error: unknown): string {
  const code = errnoOf(error);
  const path = error instanceof Error && 'path' in error ? String(error.path) : '';
  if (code === 'ENOENT' && path.startsWith(directory)) {
    return path.endsWith(DIFF) ? 'its files are missing' : 'its recipe is missing';
  }
  const isOurs =
    error instanceof EngineError
      ? error.details['errno'] !== undefined || !OF_RECIPE.has(error.code)
      : code !== undefined && code !== 'EIO' && !code.startsWith('Z_') && !code.startsWith('ERR_');
  if (isOurs) {
    throw error;
  }
  return `its recipe is damaged: ${errorText(error)}`;
}

/** Passes members on and leaves their contents out; files get their sizes all the same. */
class Skeleton implements TarSink {
  readonly #applier: LayerApplier;

  constructor(applier: LayerApplier) {
    this.#applier = applier;
  }

  raw(): void {
    // The recipe is there already.
  }

  member(member: TarMember): void {
    this.#applier.member(member);
    const fd = this.#applier.openFile;
    if (fd !== undefined && member.size > 0) {
      ftruncateSync(fd, member.size);
    }
  }

  data(): void {
    // See above.
  }

  memberEnd(): void {
    this.#applier.memberEnd();
  }
}
