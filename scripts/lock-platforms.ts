/**
 * `npm run lock`: completes package-lock.json. An npm that installed from a mirror without the binaries of other
 * platforms leaves them out of the lock file, and `npm ci` then refuses it everywhere. `--check` only looks.
 *
 * An entry without `resolved` and `integrity` is enough: npm fetches it by name and version where its platform fits.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './lib/sources.ts';

interface LockedPackage {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, LockedPackage>;
}

const OS = new Set(['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']);
const CPU = new Set(['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']);

/** Entries that other entries refer to and that are not there, by their key. Pure. */
function missingPlatforms(lock: Lock): Record<string, LockedPackage> {
  const missing: Record<string, LockedPackage> = {};
  for (const [key, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const places = [`${key}/node_modules/${name}`, `node_modules/${name}`];
      if (key !== '' && !places.some((place) => place in lock.packages)) {
        missing[`node_modules/${name}`] = platformEntry(name, version, dev === true);
      }
    }
  }
  return missing;
}

/** What a package of this name is for: platform packages carry it in their names, `...-linux-arm64-musl`. */
function platformEntry(name: string, version: string, dev: boolean): LockedPackage {
  const words = name.split(/[-/]/);
  const os = words.filter((word) => OS.has(word));
  const cpu = words.filter((word) => CPU.has(word));
  const libc = os.includes('linux') ? words.filter((word) => word === 'gnu' || word === 'musl') : [];
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(dev ? { dev } : {}),
    ...(libc.length > 0 ? { libc: libc.map((word) => (word === 'gnu' ? 'glibc' : word)) } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}

const file = path.join(repositoryRoot, 'package-lock.json');
const lock: Lock = JSON.parse(readFileSync(file, 'utf8'));
const missing = missingPlatforms(lock);
const names = Object.keys(missing);
if (process.argv.includes('--check')) {
  names.forEach((name) => console.log(`package-lock.json lacks ${name}; npm run lock adds it`));
  process.exitCode = names.length === 0 ? 0 : 1;
} else if (names.length > 0) {
  const packages = Object.entries({ ...lock.packages, ...missing }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(
    file,
    `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, undefined, 2)}\n`,
  );
  console.log(`added ${names.length} platform packages to package-lock.json`);
}
