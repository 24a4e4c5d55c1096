import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { machine } from 'node:os';
import { runCommand } from '../../daemon/base/command.ts';

/** Where host facts come from; tests put another machine behind it. Paths are the host's own, never a client's. */
export interface HostSource {
  /** As `uname -m`. */
  readonly architecture: string;
  /** Contents of a file, undefined when it cannot be read. */
  read(path: string): string | undefined;
  exists(path: string): boolean;
  /** Full path of an executable, undefined when there is none. */
  find(name: string): string | undefined;
  /** Standard output of a program, undefined when it failed. */
  run(argv: [string, ...string[]]): Promise<string | undefined>;
}

/** Folders of helper programs that a user's PATH may lack. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The machine the daemon runs on. */
export function liveHost(): HostSource {
  return {
    architecture: machine(),
    read: (path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        // Absent and unreadable mean the same: this kernel does not tell.
        return undefined;
      }
    },
    exists: (path) => existsSync(path),
    find: (name) =>
      [...(process.env['PATH'] ?? '').split(':'), ...SYSTEM_FOLDERS]
        .filter((folder) => folder.startsWith('/'))
        .map((folder) => `${folder}/${name}`)
        .find(isExecutable),
    run: async (argv) => {
      try {
        const result = await runCommand(argv, { timeoutMs: 5_000 });
        return result.exitCode === 0 ? result.stdout : undefined;
      } catch {
        // Could not be started: as good as not installed.
        return undefined;
      }
    },
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there or not executable: look further.
    return false;
  }
}
