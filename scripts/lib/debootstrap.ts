import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const OUTPUT_SHOWN = 2000;

/** Debian 12 and 13: what Berth is served on. */
export const SUITES = ['bookworm', 'trixie'] as const;
export type Suite = (typeof SUITES)[number];

/** Makes a minimal Debian with `packages` in the folder `root`. Throws with its output when it fails. */
export function debootstrap(root: string, packages: readonly string[] = [], suite: Suite = 'bookworm'): void {
  const include = packages.length === 0 ? [] : [`--include=${packages.join(',')}`];
  run('debootstrap', '--variant=minbase', ...include, suite, root, mirror());
}

/** Runs a program; throws with its output when it fails. */
export function run(file: string, ...args: string[]): void {
  try {
    execFileSync(file, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: OUTPUT_BYTES_MAX });
  } catch (error) {
    const { stdout = '', stderr = '' } =
      error instanceof Error ? (error as { stdout?: unknown; stderr?: unknown }) : {};
    const output = `${String(stdout).slice(-OUTPUT_SHOWN)}${String(stderr).slice(-OUTPUT_SHOWN)}`;
    throw new Error(`${file} ${args[0]} failed:\n${output}`, { cause: error });
  }
}

/** The mirror that apt uses here, so that a company's or a test machine's own is asked. */
function mirror(): string {
  const lists = [
    '/etc/apt/sources.list',
    ...readdirSync('/etc/apt/sources.list.d').map((name) => `/etc/apt/sources.list.d/${name}`),
  ];
  const text = lists
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) *(https?:\/\/\S+\/debian)\/?(?:\s|$)/m.exec(text)?.[1];
  return found ?? 'http://deb.debian.org/debian';
}
