import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, errnoOf, internal } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { openBytesInRoot } from '../../daemon/base/kernel/files/files.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { DIFF, RECIPE } from './apply.ts';
import { readRecipe, recipeTarBytes, type RecipeStep } from './recipe.ts';
import { TarChunks } from '../tar/chunks.ts';
import { showName } from '../tar/names.ts';
import { extentBytes } from '../tar/sparse.ts';

/** Bytes of the tar that `replayLayer` writes. */
export function layerTarBytes(directory: string): number {
  const fd = openSync(join(directory, RECIPE), 'r');
  try {
    return recipeTarBytes(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes a layer's tar again from its files, in chunks that the receiver may keep. Blocks: for a worker. `emit` answers
 * false when the receiver wants no more. Throws EngineError internal when the result is not what was applied (a program
 * changed the layer's files).
 */
export function replayLayer(directory: string, diffId: string, emit: (chunk: Buffer) => boolean): void {
  const hash = createHash('sha256');
  const output = new TarChunks((chunk) => {
    hash.update(chunk);
    if (!emit(chunk)) {
      throw new EngineError('canceled', 'reading a layer: canceled');
    }
  });
  writeLayerTar(directory, output, (path, why) => {
    throw internal(`layer ${diffId}: file ${showName(path)} ${why}`);
  });
  const written = `sha256:${hash.digest('hex')}`;
  if (written !== diffId) {
    throw internal(`layer ${diffId}: its files were changed (they now make ${written})`);
  }
}

/**
 * The tar as recipe and files give it, to the end. `damaged` is told of each file (a byte string) that cannot be what
 * was applied; when it does not throw, zeros stand for the rest of that file. Throws when the recipe is no recipe.
 */
export function writeLayerTar(
  directory: string,
  output: TarChunks,
  damaged: (path: string, why: string) => void,
): void {
  const root = openSync(join(directory, DIFF), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const fd = openSync(join(directory, RECIPE), 'r');
    try {
      for (const step of readRecipe(fd)) {
        if (step.kind === 'raw') {
          output.write(step.bytes);
        } else {
          writeContent(root, step, output, damaged);
        }
      }
    } finally {
      closeSync(fd);
    }
  } finally {
    closeSync(root);
  }
  output.finish();
}

function writeContent(
  root: number,
  { path, size, extents }: Extract<RecipeStep, { kind: 'content' }>,
  output: TarChunks,
  damaged: (path: string, why: string) => void,
): void {
  const parts = extents ?? [{ offset: 0, size }];
  let left = extentBytes(parts);
  const why = problemOf(() => {
    using file = new OpenFile(openBytesInRoot(root, path, CONTENT_FLAGS));
    const stat = fstatSync(file.fd);
    if (!stat.isFile() || stat.size !== size) {
      return stat.isFile() ? `has ${stat.size} bytes, should have ${size}` : 'is no file any more';
    }
    for (const part of parts) {
      for (let done = 0; done < part.size;) {
        failpoint('layers.read.content');
        const count = output.read(file.fd, part.size - done, part.offset + done);
        if (count === 0) {
          return 'was cut while it was read';
        }
        done += count;
        left -= count;
      }
    }
    return undefined;
  });
  if (why !== undefined) {
    damaged(path, why);
    output.zeros(left);
  }
}

const CONTENT_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Of the file itself, or of the disk below it: another file may be read all the same. */
const ONE_FILE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EIO', 'EUCLEAN', 'ENXIO', 'EACCES']);

/** What is wrong with a file, also when the disk says it. */
function problemOf(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch (error) {
    const code = errnoOf(error) ?? '';
    if (!ONE_FILE.has(code)) {
      throw error;
    }
    return code === 'ENOENT' ? 'is missing' : `cannot be read: ${code}`;
  }
}
