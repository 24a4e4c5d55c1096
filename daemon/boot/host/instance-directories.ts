import { mkdirSync } from 'node:fs';
import { spreadSubdirectories } from '../../base/kernel/files/spread.ts';
import type { Instance } from '../instance.ts';

/** Makes the directories of this instance that are missing, each with the mode that keeps others out of it. */
export function prepareDirectories({ paths }: Instance): void {
  // What other users may read is made so on purpose, never by a lax umask of the process that started the daemon.
  process.umask(0o022);
  // Passable, not listable: a process in a user namespace must reach its own root below.
  mkdirSync(paths.dataRoot, { recursive: true, mode: 0o710 });
  for (const [path, mode] of [
    [paths.containers, 0o710],
    [paths.layers, 0o700],
    [paths.volumes, 0o701],
    [paths.temporary, 0o700],
  ] as const) {
    mkdirSync(path, { recursive: true, mode });
    spreadSubdirectories(path);
  }
  mkdirSync(paths.execRoot, { recursive: true, mode: 0o700 });
}
