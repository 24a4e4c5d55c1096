import { parseImageConfig, type HistoryEntry } from '../../../storage/image/image-config.ts';
import { asArray, asObject, optional, parseJson } from '../../../storage/image/json.ts';
import type { Platform } from '../../../storage/image/platform.ts';
import { limits } from '../../base/limits.ts';
import { invalidArgument } from '../../base/errors.ts';
import type { BaseImage } from '../frontend/options.ts';

/** What a result is made of. */
interface Layers {
  /** Of the operations of its chain, how many may have brought a layer. */
  steps: number;
  /** Layers that were there before any of them. */
  below: number;
}

/** As clients of BuildKit call what only fills up the history. */
const FILLED: HistoryEntry = { createdBy: '', comment: 'buildkit.exporter.image.v0', emptyLayer: false };

/**
 * The configuration that a client gives to a result of its graph; without one there is only the platform. Its layers
 * are those of the result, and its history is made to fit them. Throws invalid_argument that names the field. Pure.
 */
export function givenConfig(config: Buffer | undefined, platform: Platform, layers: Layers): BaseImage {
  if (config === undefined) {
    const { os, architecture, variant = '' } = platform;
    return { os, architecture, variant, author: '', config: {}, history: fitted([], layers) };
  }
  const where = 'containerimage.config';
  if (config.length > limits.imageConfigBytesMax) {
    throw invalidArgument(`${where} is larger than ${limits.imageConfigBytesMax} bytes`);
  }
  const root = asObject(parseJson(config, where), where);
  const history = optional(root['history'], `${where}.history`, asArray) ?? [];
  // As many layers as it says, so that all of it can be read.
  const digest = `sha256:${'0'.repeat(64)}`;
  const rootfs = { type: 'layers', diff_ids: history.slice(0, limits.imageLayersMax).map(() => digest) };
  // An output may refuse other systems than this: the store does, files do not.
  const bytes = Buffer.from(JSON.stringify({ ...root, rootfs, history }));
  const read = parseImageConfig(bytes, where, { anySystem: true });
  const { os, architecture, variant, author, config: run } = read;
  return { os, architecture, variant, author, config: run, history: fitted(read.history, layers) };
}

/** Entries that have no time are of this build: one for each step; those that have are of what was there before. */
function fitted(history: readonly HistoryEntry[], { steps, below }: Layers): HistoryEntry[] {
  const old = { kept: below, seen: 0 };
  const own = { kept: steps, seen: 0 };
  const all = history.map((entry): HistoryEntry => {
    const count = entry.created === undefined ? own : old;
    count.seen += entry.emptyLayer ? 0 : 1;
    return count.seen > count.kept ? { ...entry, emptyLayer: true } : entry;
  });
  const before = Array.from({ length: missing(old) }, () => ({ ...FILLED, created: '1970-01-01T00:00:00Z' }));
  return [...before, ...all, ...Array.from({ length: missing(own) }, () => FILLED)];
}

function missing({ kept, seen }: { kept: number; seen: number }): number {
  return Math.max(0, kept - seen);
}
