import type { HostSource } from './source.ts';

/** Helper programs of the engine. */
export type ComponentName = 'runc' | 'conmon' | 'nft' | 'init';

export interface Component {
  path: string;
  /** As the program prints it: `1.1.5+ds1`. */
  version: string;
  /** Empty when the program does not say. */
  commit: string;
}

interface Kind {
  /** Names it goes by, best first. */
  names: string[];
  argument: string;
  version: RegExp;
  commit?: RegExp;
}

const kinds = {
  runc: {
    names: ['runc'],
    argument: '--version',
    version: /^runc version (\S+)/m,
    commit: /^commit: (\S+)/m,
  },
  conmon: {
    names: ['conmon'],
    argument: '--version',
    version: /^conmon version (\S+)/m,
    commit: /^commit: (?!unknown)(\S+)/m,
  },
  nft: { names: ['nft'], argument: '--version', version: /^nftables v(\S+)/m },
  init: {
    // It runs inside containers whose root has no libraries: prefer the static build.
    names: ['docker-init', 'tini-static', 'tini', 'catatonit'],
    argument: '--version',
    version: /\bversion (\S+)/m,
    commit: /git\.(\w+)/,
  },
} satisfies Record<ComponentName, Kind>;

/** Finds each program and asks it for its version; null = not installed or does not answer. */
export async function readComponents(
  source: HostSource,
  paths: Partial<Record<ComponentName, string>>,
): Promise<Record<ComponentName, Component | null>> {
  const [runc, conmon, nft, init] = await Promise.all([
    readComponent(source, kinds.runc, paths.runc),
    readComponent(source, kinds.conmon, paths.conmon),
    readComponent(source, kinds.nft, paths.nft),
    readComponent(source, kinds.init, paths.init),
  ]);
  return { runc, conmon, nft, init };
}

async function readComponent(
  source: HostSource,
  kind: Kind,
  configured: string | undefined,
): Promise<Component | null> {
  const path = configured ?? kind.names.map((name) => source.find(name)).find((found) => found !== undefined);
  const output = path === undefined ? undefined : await source.run([path, kind.argument]);
  const version = kind.version.exec(output ?? '')?.[1];
  if (path === undefined || version === undefined) {
    return null;
  }
  return { path, version, commit: kind.commit?.exec(output ?? '')?.[1] ?? '' };
}
