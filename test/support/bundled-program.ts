import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll } from 'vitest';
import { bundle } from '../../scripts/lib/bundle.ts';
import { repositoryRoot } from '../../scripts/lib/sources.ts';

const CACHE = path.join(repositoryRoot, 'node_modules/.cache');
const bundled = new Map<string, Promise<string>>();
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * The path of a program of the tests as the engine itself is built: it starts in a fifth of the time that its sources
 * take, which counts where it is started and killed at each of twenty steps. Gone when the tests of a file end.
 */
export function bundledProgram(script: string): Promise<string> {
  const known = bundled.get(script) ?? bundleOne(script);
  bundled.set(script, known);
  return known;
}

async function bundleOne(script: string): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(path.join(CACHE, 'berth-program-'));
  folders.push(folder);
  const name = path.basename(script, '.ts');
  await bundle({ [name]: script }, folder);
  return path.join(folder, `${name}.js`);
}
