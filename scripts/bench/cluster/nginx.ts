import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const INSTALLED = '/usr/sbin/nginx';

/**
 * The nginx of Debian: that of this machine, or the package unpacked beside it, so that no service is started.
 * Undefined where there is no such package.
 */
export function findNginx(): ({ path: string } & Disposable) | undefined {
  if (existsSync(INSTALLED)) {
    return { path: INSTALLED, [Symbol.dispose]: () => undefined };
  }
  const directory = mkdtempSync(join(tmpdir(), 'berth-bench-nginx-package-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    execFileSync('apt-get', ['-q', '-o', 'APT::Sandbox::User=root', 'download', 'nginx'], {
      cwd: directory,
      stdio: 'ignore',
    });
    const [file = ''] = readdirSync(directory);
    execFileSync('dpkg', ['-x', join(directory, file), directory]);
    return { path: join(directory, INSTALLED), [Symbol.dispose]: remove };
  } catch {
    // No Debian, or no package: the figures of the others are still right.
    remove();
    return undefined;
  }
}
