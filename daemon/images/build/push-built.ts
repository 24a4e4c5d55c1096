import type { ProgressMessage, RegistryAuth } from '../../../api/types/image.ts';
import type { PushOptions } from '../../../api/types/ports.ts';
import { parseReference } from '../../../storage/references/reference.ts';
import { invariant } from '../../base/errors.ts';

export type PushImages = (name: string, options: PushOptions) => AsyncIterable<ProgressMessage>;

/** Pushes an image that a build has made, by its full name; answers its manifest's digest. */
export async function pushBuilt(
  push: PushImages,
  name: string,
  { auth, signal }: { auth: (domain: string) => Promise<RegistryAuth>; signal: AbortSignal },
): Promise<string> {
  const { domain } = parseReference(name);
  let digest = '';
  for await (const { aux } of push(name, { auth: await auth(domain), signal })) {
    digest = digestIn(aux) ?? digest;
  }
  invariant(digest !== '', `the push of ${name} has ended without a digest`);
  return digest;
}

function digestIn(aux: unknown): string | undefined {
  return typeof aux === 'object' && aux !== null && 'Digest' in aux && typeof aux.Digest === 'string'
    ? aux.Digest
    : undefined;
}
