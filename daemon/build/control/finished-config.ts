import { createHash } from 'node:crypto';
import { formatNano } from '../../base/clock.ts';
import { invariant } from '../../base/errors.ts';
import { INLINE_CACHE } from '../cache/exchange/document.ts';
import type { BaseImage } from '../frontend/options.ts';

/** An operation of the target's chain. */
export interface FinishedStep {
  hasLayer: boolean;
  /** Undefined: nobody knows. */
  createdMs: number | undefined;
}

const NANOS_PER_MS = 1_000_000n;

/**
 * The configuration of an image, as bytes, when all its layers are there: the same for the same results, however often
 * they are taken from the cache. A step that changed no file has no layer. Pure.
 */
export function finishedConfig(
  image: BaseImage,
  {
    steps,
    diffIds,
    inlineCache = Buffer.alloc(0),
  }: { steps: readonly FinishedStep[]; diffIds: readonly string[]; inlineCache?: Buffer },
): Buffer {
  const { history, created } = finishedHistory(image, steps);
  const { architecture, os, variant, author, config } = image;
  const all = {
    architecture,
    ...(author !== '' && { author }),
    config,
    ...(created !== undefined && { created }),
    history,
    ...(inlineCache.length > 0 && { [INLINE_CACHE]: inlineCache.toString('base64') }),
    os,
    rootfs: { type: 'layers', diff_ids: diffIds },
    ...(variant !== '' && { variant }),
  };
  return Buffer.from(JSON.stringify(all));
}

export function imageIdOf(config: Buffer): string {
  return `sha256:${createHash('sha256').update(config).digest('hex')}`;
}

function finishedHistory(
  { history }: BaseImage,
  steps: readonly FinishedStep[],
): { history: object[]; created: string | undefined } {
  const pending = [...steps];
  let created: string | undefined;
  const finished = history.map((entry) => {
    const isNew = entry.created === undefined;
    const step = isNew && !entry.emptyLayer ? pending.shift() : undefined;
    const at = step?.createdMs;
    created =
      entry.created ?? (at === undefined ? created : formatNano(BigInt(Math.trunc(at)) * NANOS_PER_MS));
    const isEmpty = step === undefined ? entry.emptyLayer : !step.hasLayer;
    return {
      ...(created !== undefined && { created }),
      created_by: entry.createdBy,
      ...(entry.author !== undefined && entry.author !== '' && { author: entry.author }),
      ...(entry.comment !== '' && { comment: entry.comment }),
      ...(isEmpty && { empty_layer: true }),
    };
  });
  invariant(pending.length === 0, `${pending.length} steps of a build are missing in its history`);
  return { history: finished, created };
}
