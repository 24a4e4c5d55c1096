import { randomBytes } from 'node:crypto';
import { test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import type { TarEntry } from '../../support/images/tar.ts';
import { residentBytes } from '../../support/process.ts';

const MIB = 1024 * 1024;
const FILES = 2_500;

function layer(name: string): TarEntry[] {
  const content = randomBytes(8 * 1024);
  return Array.from({ length: FILES }, (_, index) => ({ name: `${name}/file-${index}`, content }));
}

describeEngine('memory', (engine) => {
  // The reference has it in several processes.
  test.skipIf(onReference)('load: the memory that its threads took is given back when they end', async () => {
    const { http, daemon } = engine;
    const load = async (tag: string): Promise<void> => {
      const extraLayers = ['a', 'b', 'c', 'd'].map((name) => layer(`${tag}${name}`));
      await http.ok('POST', '/images/load?quiet=1', busyboxImageTar({ tags: [`${tag}:1`], extraLayers }));
      // A thread ends when it has been idle for so long, and what it freed goes with the last one.
      await sleep(limits.layerWorkerIdleMs + 1_000);
    };
    // What the first one leaves are the engine's own programs, which it has not run before.
    await load('small');
    const before = residentBytes(daemon.pid);
    await load('large');
    await until('its memory', () => residentBytes(daemon.pid) - before < 15 * MIB);
    await engine.removeImages();
  });
});
