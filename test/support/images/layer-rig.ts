/** One layer unpacked on a real disk and written again, beside files that must not change. */
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { applyLayer } from '../../../storage/layers/apply.ts';
import type { AppliedLayer } from '../../../storage/layers/apply-request.ts';
import { replayLayer } from '../../../storage/layers/replay.ts';
import { Canary } from '../canary.ts';

export interface LayerOnDisk extends AppliedLayer {
  directory: string;
  diff: string;
}

export class LayerRig implements Disposable {
  readonly base = mkdtempSync(path.join(tmpdir(), 'berth-apply-'));
  readonly canary = new Canary(path.join(this.base, 'canary'));

  /** Unpacks a layer; no descriptor stays open, also when it fails. */
  async apply(bytes: Buffer): Promise<LayerOnDisk> {
    const blob = path.join(this.base, 'blob');
    writeFileSync(blob, bytes);
    const directory = path.join(this.base, 'layer');
    removeTree(directory);
    mkdirSync(directory);
    const fd = openSync(blob, 'r');
    const openBefore = readdirSync('/proc/self/fd').length;
    try {
      const request = { blob: { fd, offset: 0, size: bytes.length }, directory, what: 'layer' };
      const layer = await applyLayer(request, { isCanceled: () => false, progress: () => {} });
      return { ...layer, directory, diff: path.join(directory, 'diff') };
    } finally {
      expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(openBefore);
      closeSync(fd);
    }
  }

  /** The bytes that a layer's tar has when it is written again. */
  replayed(layer: LayerOnDisk): Buffer {
    const chunks: Buffer[] = [];
    replayLayer(layer.directory, layer.diffId, (chunk) => chunks.push(chunk) > 0);
    return Buffer.concat(chunks);
  }

  [Symbol.dispose](): void {
    removeTree(this.base);
  }
}
