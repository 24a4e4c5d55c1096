import type { DistributionInspect, RegistryAuth } from '../../api/types/image.ts';
import { askRegistries, type RegistryAccess } from '../../storage/registry/connect.ts';
import { RemoteRepository } from '../../storage/registry/repository.ts';
import type { RegistrySession } from '../../storage/registry/session.ts';
import { parseReference, withDefaultTag, type Reference } from '../../storage/references/reference.ts';
import { parseImageConfig } from '../../storage/image/image-config.ts';
import type { Platform } from '../../storage/image/platform.ts';

/** What a mirror or the registry has under a name: its manifest or index, and for which platforms. */
export async function inspectRemote(
  access: RegistryAccess,
  ref: string,
  { auth, signal }: { auth: RegistryAuth; signal: AbortSignal },
): Promise<DistributionInspect> {
  const reference = withDefaultTag(parseReference(ref));
  return await askRegistries(access, reference.domain, { credentials: auth, signal }, async (session) => {
    const found = await inspectIn(session, reference, signal);
    session[Symbol.dispose]();
    return found;
  });
}

async function inspectIn(
  session: RegistrySession,
  reference: Reference,
  signal: AbortSignal,
): Promise<DistributionInspect> {
  const repository = new RemoteRepository(session, reference.path);
  const manifest = await repository.manifest(reference.digest ?? reference.tag ?? '', signal);
  const { mediaType, digest, bytes } = manifest;
  const platforms =
    manifest.kind === 'index'
      ? manifest.manifests.flatMap(({ platform }) => (platform === undefined ? [] : [platform]))
      : [parseImageConfig(await repository.blob(manifest.config, signal), manifest.config.digest)];
  return {
    Descriptor: { mediaType, digest, size: bytes.length },
    Platforms: platforms.map((platform) => shown(platform)),
  };
}

function shown({ architecture, os, variant }: Platform): DistributionInspect['Platforms'][number] {
  return { architecture, os, ...(variant !== undefined && variant !== '' && { variant }) };
}
