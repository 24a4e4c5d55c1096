import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readKeyFile } from '../../../../swarm/ca/keys/key-file.ts';
import { parseUnlockKey } from '../../../../swarm/ca/keys/unlock-key.ts';
import type { Keyring } from '../../../../swarm/store/sealed.ts';
import type { TestDaemon } from '../../engine/daemon.ts';

/** The keys of the store that a manager has on its disk. `unlockKey`: as users keep it, of a locked swarm. */
export function keyringOf(daemon: TestDaemon, unlockKey?: string): Keyring {
  const text = readFileSync(path.join(daemon.paths.dataRoot, 'swarm/node.pem'), 'utf8');
  const { keyring } = readKeyFile(text, unlockKey === undefined ? undefined : parseUnlockKey(unlockKey));
  if (keyring === undefined) {
    throw new Error(`${daemon.name} is no manager`);
  }
  return keyring;
}

/** Their ids. */
export function dataKeys(daemon: TestDaemon, unlockKey?: string): number[] {
  return keyringOf(daemon, unlockKey).keys.map(({ id }) => id);
}
