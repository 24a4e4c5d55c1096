import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../scripts/lib/debootstrap.ts';

const FETCH = `cd "$1"
apt-get -qq -o APT::Sandbox::User=root download kubernetes-client=1.20.*
dpkg -x *.deb .
rm *.deb`;

const CACHE = '/var/cache/berth-kubectl';

/** kubectl 1.20 of Debian 12, out of its package and without installing it; undefined where it cannot be had. */
export function debianKubectl(): string | undefined {
  const program = join(CACHE, 'usr/bin/kubectl');
  if (existsSync(program)) {
    return program;
  }
  const draft = `${CACHE}-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    run('sh', '-ec', FETCH, 'sh', draft);
    // A run beside this one may have been faster.
    if (!existsSync(CACHE)) {
      renameSync(draft, CACHE);
    }
    return program;
  } catch (error) {
    // No Debian 12, or no mirror: its tests are skipped, and this is why.
    console.error(String(error));
    return undefined;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
