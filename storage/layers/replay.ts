import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, internal } from '../../daemon/base/errors.ts';
import { openBytesInRoot } from '../../daemon/base/kernel/files.ts';
import { DIFF, RECIPE } from './apply.ts';
import { readRecipe, recipeTarBytes } from './recipe.ts';
import { TarChunks } from './tar/chunks.ts';
import { showName } from './tar/names.ts';

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
 * Writes a layer's tar again from its files, in chunks that the receiver may keep. Blocks: for a worker. `emit`
 * answers false when nobody wants more.
 * Throws EngineError internal when the result is not what was applied (somebody changed the files below us).
 */
export function replayLayer(directory: string, diffId: string, emit: (chunk: Buffer) => boolean): void {
  const hash = createHash('sha256');
  const output = new TarChunks((chunk) => {
    hash.update(chunk);
    if (!emit(chunk)) {
      throw new EngineError('canceled', 'reading a layer: canceled');
    }
  });
  const root = openSync(join(directory, DIFF), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const fd = openSync(join(directory, RECIPE), 'r');
    try {
      for (const step of readRecipe(fd)) {
        if (step.kind === 'raw') {
          output.write(step.bytes);
        } else {
          writeContent(root, step, diffId, output);
        }
      }
    } finally {
      closeSync(fd);
    }
  } finally {
    closeSync(root);
  }
  output.finish();
  const written = `sha256:${hash.digest('hex')}`;
  if (written !== diffId) {
    throw internal(`layer ${diffId}: its files were changed (they now make ${written})`);
  }
}

function writeContent(
  root: number,
  step: { path: string; size: number },
  diffId: string,
  output: TarChunks,
): void {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const fd = openBytesInRoot(root, step.path, flags);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size !== step.size) {
      throw internal(`layer ${diffId}: file ${showName(step.path)} was changed`);
    }
    let done = 0;
    while (done < step.size) {
      const count = output.read(fd, step.size - done);
      if (count === 0) {
        throw internal(`layer ${diffId}: file ${showName(step.path)} was cut while it was read`);
      }
      done += count;
    }
  } finally {
    closeSync(fd);
  }
}
