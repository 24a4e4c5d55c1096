import type { RegistryAuth } from '../../../api/types/image.ts';
import { askRegistries, type RegistryAccess } from '../../../storage/registry/connect.ts';
import { registryCodeOf } from '../../../storage/registry/failure.ts';
import type { Manifest } from '../../../storage/registry/manifest.ts';
import { RemoteRepository } from '../../../storage/registry/repository.ts';
import type { RegistrySession } from '../../../storage/registry/session.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  type Reference,
} from '../../../storage/references/reference.ts';
import { choosePlatform, formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import { EngineError, invalidArgument, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

export type ImageManifest = Extract<Manifest, { kind: 'image' }>;
export type IndexManifest = Extract<Manifest, { kind: 'index' }>;

/** What a name means in a registry. */
export interface Resolved {
  repository: RemoteRepository;
  /** Of one image. */
  manifest: ImageManifest;
  /** Of what the name stands for: the image's manifest, or the index that led to it. */
  digest: string;
  /** Of the image's own manifest. */
  imageDigest: string;
  /** That has the image's manifest; undefined = there is none, or one of several in each other. */
  index: IndexManifest | undefined;
}

/**
 * Asks the mirrors and then the registry what a name means. The session in the answer is the caller's to close. Throws
 * in the words that clients of dockerd know.
 */
export async function resolveImage(
  access: RegistryAccess,
  reference: Reference,
  options: { platform: Platform; auth: RegistryAuth; signal: AbortSignal },
): Promise<Resolved> {
  const { platform, auth, signal } = options;
  const wanted = reference.digest ?? reference.tag ?? 'latest';
  try {
    return await askRegistries(access, reference.domain, { credentials: auth, signal }, (session) =>
      resolveIn(session, reference.path, { wanted, platform, signal }),
    );
  } catch (error) {
    throw pullError(error, reference);
  }
}

async function resolveIn(
  session: RegistrySession,
  path: string,
  { wanted, platform, signal }: { wanted: string; platform: Platform; signal: AbortSignal },
): Promise<Resolved> {
  const repository = new RemoteRepository(session, path);
  const first = await repository.manifest(wanted, signal);
  let manifest = first;
  let imageDigest = first.digest;
  for (let depth = 0; manifest.kind === 'index'; depth += 1) {
    if (depth >= limits.indexNestingMax) {
      throw invalidArgument(`${path}: indexes nested deeper than ${limits.indexNestingMax}`);
    }
    const best = choosePlatform(manifest.manifests, platform);
    if (best === undefined) {
      const name = formatPlatform(platform);
      throw notFound(`no matching manifest for ${name} in the manifest list entries`);
    }
    manifest = await repository.manifest(best.digest, signal);
    imageDigest = best.digest;
  }
  const isDirect = first.kind === 'index' && first.all.some((each) => each.digest === imageDigest);
  return {
    repository,
    manifest,
    digest: first.digest,
    imageDigest,
    index: isDirect && first.all.length <= limits.keptIndexMax ? first : undefined,
  };
}

/** All tags of a repository, by a mirror of it or by its registry. */
export async function listTags(
  access: RegistryAccess,
  reference: Reference,
  { auth, signal }: { auth: RegistryAuth; signal: AbortSignal },
): Promise<string[]> {
  try {
    return await askRegistries(access, reference.domain, { credentials: auth, signal }, async (session) => {
      const tags = await new RemoteRepository(session, reference.path).tags(signal);
      session[Symbol.dispose]();
      return tags;
    });
  } catch (error) {
    throw pullError(error, reference);
  }
}

/** A registry's refusal as dockerd tells it (moby distribution/errors.go). */
export function pullError(error: unknown, reference: Reference): unknown {
  if (!(error instanceof EngineError) || typeof error.details['status'] !== 'number') {
    return error;
  }
  const repository = familiarRepository(canonicalRepository(reference));
  const text = error.message;
  const code = registryCodeOf(error);
  if (error.code === 'forbidden') {
    const why = "repository does not exist or may require 'docker login'";
    return notFound(`pull access denied for ${repository}, ${why}: ${text}`, { cause: error });
  }
  if (code === 'NAME_UNKNOWN') {
    return notFound(`repository ${repository} not found: ${text}`, { cause: error });
  }
  if (error.code === 'not_found') {
    return notFound(`manifest for ${familiarName(reference)} not found: ${text}`, { cause: error });
  }
  return error;
}
