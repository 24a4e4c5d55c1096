import type { BuildSession } from '../../../api/types/build/session.ts';
import { errorText, notFound } from '../../base/errors.ts';
import { CacheImports, type ReadCache } from '../cache/exchange/imports.ts';
import { clientSource } from '../cache/exchange/client-cache.ts';
import { readCache, readImageCache } from '../cache/exchange/read-cache.ts';
import type { CacheLayers, CacheSource, RegistryOptions } from '../cache/exchange/ports.ts';
import type { RecordCache } from '../cache/records.ts';
import type { CacheImport } from './cache-options.ts';
import type { Vertices } from './vertices.ts';

interface Importing {
  caches: CacheLayers;
  records: RecordCache;
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
  /** Tells the client of what is no failure of its build. */
  warn(text: string, detail: string): void;
}

/** Caches that are open for one build. */
export interface OpenImports extends Disposable {
  /** Undefined: nothing was named. */
  imports: CacheImports | undefined;
}

/** Looks into caches. One that cannot be read is told of, and is none: what it would give is built. */
export async function openImports(build: Importing, asked: readonly CacheImport[]): Promise<OpenImports> {
  const sources: CacheSource[] = [];
  const read = await Promise.all(asked.map((one) => openOne(build, one, sources)));
  build.signal.throwIfAborted();
  const caches = read.flatMap((cache) => cache ?? []);
  const warn = (text: string): void => build.warn(`cache of ${text}`, 'What is missing of it is built.');
  return {
    imports:
      caches.length === 0
        ? undefined
        : new CacheImports(caches, { records: build.records, layers: build.caches, warn }),
    [Symbol.dispose]: () => sources.forEach((source) => source[Symbol.dispose]()),
  };
}

async function openOne(
  build: Importing,
  asked: CacheImport,
  sources: CacheSource[],
): Promise<ReadCache | undefined> {
  const { vertices, signal } = build;
  const name = asked.type === 'registry' ? asked.reference : asked.directory;
  const where = `cache ${name}`;
  try {
    return await vertices.run(`importing cache manifest from ${name}`, async () => {
      if (asked.type === 'local') {
        const source = clientSource(build.session.content(`local:${asked.directory}`));
        return { name, source, document: await readCache(source, asked.digest, { where, signal }) };
      }
      const here = build.caches.configOf(name);
      const inline = here && readImageCache(here, undefined, where);
      if (inline !== undefined && inline.results.length > 0) {
        return { name, source: { layer: gone }, document: inline };
      }
      const source = await build.caches.registrySource(name, registryOptions(build));
      sources.push(source);
      return { name, source, document: await readCache(source, nameIn(name), { where, signal }) };
    });
  } catch (error) {
    if (!signal.aborted) {
      build.warn(`cache of ${name} is not used: ${errorText(error)}`, 'What it would give is built.');
    }
    return undefined;
  }
}

/** Credentials are the client's; clients keep those of Docker's own registry by another name. */
export function registryOptions({
  session,
  signal,
}: {
  session: BuildSession;
  signal: AbortSignal;
}): RegistryOptions {
  return {
    signal,
    auth: async (domain) =>
      await session.credentials(domain === 'docker.io' ? 'registry-1.docker.io' : domain, signal),
  };
}

/** What stands behind the repository: `1` of `host:5000/app:1`. */
function nameIn(reference: string): string {
  const [, digest] = /@(sha256:[0-9a-f]{64})$/.exec(reference) ?? [];
  return digest ?? /:([^:/]+)$/.exec(reference)?.[1] ?? 'latest';
}

/** Of an image that was here: its layers were, too. */
function gone({ diffId }: { diffId: string }): never {
  throw notFound(`layer ${diffId} has gone with its image`);
}
