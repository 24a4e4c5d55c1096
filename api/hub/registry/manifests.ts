import { limits } from '../../../daemon/base/limits.ts';
import type { RegistryManifest } from '../../types/hub/registry.ts';
import { accepts } from './accept.ts';
import { readUpTo } from './body.ts';
import { admitPull, answerEmpty, header, refused, type Exchange } from './exchange.ts';

interface ManifestName {
  name: string;
  reference: string;
}

/** What an old client gets of an index that it does not know (distribution: the same). */
const OLD_CLIENTS = 'linux/amd64';

/** `GET` and `HEAD`. A client that does not take the kind of manifest that there is gets none. */
export async function getManifest(exchange: Exchange, named: ManifestName): Promise<void> {
  const { req, res, session } = exchange;
  const isHead = req.method === 'HEAD';
  if (!isHead) {
    admitPull(exchange);
  }
  const found = isHead
    ? await session.manifest(named.name, named.reference)
    : await session.pullManifest(named.name, named.reference);
  const { digest, mediaType, bytes } = await acceptable(exchange, named, found);
  res.setHeader('Content-Type', mediaType);
  res.setHeader('Docker-Content-Digest', digest);
  res.setHeader('ETag', `"${digest}"`);
  res.setHeader('Vary', 'Accept');
  if (header(req, 'if-none-match') === `"${digest}"`) {
    answerEmpty(res, 304);
    return;
  }
  res.setHeader('Content-Length', bytes.length);
  res.end(isHead ? undefined : bytes);
}

/** `PUT`. */
export async function putManifest({ req, res, session }: Exchange, named: ManifestName): Promise<void> {
  session.admit('registry_push');
  const bytes = await readUpTo(req, limits.hubManifestBytesMax);
  const body = { mediaType: header(req, 'content-type'), bytes };
  const { digest, subject, occurrence } = await session.putManifest(named.name, named.reference, body);
  answerEmpty(res, 201, {
    Location: `/v2/${named.name}/manifests/${digest}`,
    'Docker-Content-Digest': digest,
    ...(subject !== undefined && { 'OCI-Subject': subject }),
    // As its webhooks have it.
    ...(occurrence !== undefined && { 'X-Svc-Occurrence': occurrence }),
  });
}

/** `DELETE`: of a tag, or of a manifest with its tags. */
export async function deleteManifest({ res, session }: Exchange, named: ManifestName): Promise<void> {
  session.admit('registry_push');
  await session.deleteManifest(named.name, named.reference);
  answerEmpty(res, 202);
}

async function acceptable(
  { req, session }: Exchange,
  { name, reference }: ManifestName,
  manifest: RegistryManifest,
): Promise<RegistryManifest> {
  const accept = header(req, 'accept');
  if (accepts(accept, manifest.mediaType)) {
    return manifest;
  }
  const child = reference.includes(':')
    ? undefined
    : manifest.children.find(
        ({ platform, mediaType }) => platform === OLD_CLIENTS && accepts(accept, mediaType),
      );
  if (child === undefined) {
    throw refused(
      'MANIFEST_UNKNOWN',
      `manifest is ${manifest.mediaType}, which the header Accept does not name`,
    );
  }
  return await session.manifest(name, child.digest);
}
