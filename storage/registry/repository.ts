import { createHash } from 'node:crypto';
import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Descriptor } from '../image/descriptor.ts';
import { asArray, asObject, asString, optional, parseJson } from '../image/json.ts';
import { bytesOf } from './http.ts';
import type { HttpResponse } from './http.ts';
import { MANIFEST_ACCEPT, parseManifest, type Manifest } from './manifest.ts';
import { withRetries, type OnRetry } from './retry.ts';
import type { RegistrySession } from './session.ts';

/** One repository of a registry, to read from. Paths are checked references (`library/busybox`). */
export class RemoteRepository {
  readonly session: RegistrySession;
  /** `library/busybox` */
  readonly path: string;

  constructor(session: RegistrySession, path: string, actions: 'pull' | 'pull,push' = 'pull') {
    this.session = session;
    this.path = path;
    session.want([`repository:${path}:${actions}`]);
  }

  /** The address of something of this repository: `manifests/latest`. */
  url(rest: string): URL {
    return this.session.url(`/v2/${this.path}/${rest}`);
  }

  /** Throws not_found with the registry's words, invalid_argument when it is not what it says or not what was asked. */
  manifest(reference: string, signal: AbortSignal): Promise<Manifest> {
    const url = this.url(`manifests/${reference}`);
    return withRetries(signal, async () => {
      const answer = await this.session.request({
        method: 'GET',
        url,
        headers: { accept: MANIFEST_ACCEPT },
        signal,
      });
      const bytes = await whole(answer, limits.manifestBytesMax);
      const claimed = answer.headers['docker-content-digest'];
      return parseManifest(bytes, {
        where: `${this.session.origin.host}/${this.path}:${reference}`.replace(/:(?=sha256:)/, '@'),
        contentType: answer.headers['content-type'] ?? '',
        ...(reference.startsWith('sha256:') && { expected: reference }),
        ...(typeof claimed === 'string' && /^sha256:[0-9a-f]{64}$/.test(claimed) && { claimed }),
      });
    });
  }

  /** A manifest of any kind as it is; one that is asked for by its digest has that. */
  document(reference: string, signal: AbortSignal): Promise<Buffer> {
    const url = this.url(`manifests/${reference}`);
    return withRetries(signal, async () => {
      const headers = { accept: MANIFEST_ACCEPT };
      const answer = await this.session.request({ method: 'GET', url, headers, signal });
      const bytes = await whole(answer, limits.manifestBytesMax);
      const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (reference.startsWith('sha256:') && found !== reference) {
        throw invalidArgument(`${reference}: manifest verification failed: got ${found}`);
      }
      return bytes;
    });
  }

  /** A small blob, checked against its descriptor. */
  blob(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer> {
    const { digest, size } = descriptor;
    return withRetries(signal, async () => {
      const bytes = await whole(await this.openBlob(digest, 0, signal), size);
      const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (found !== digest || bytes.length !== size) {
        throw invalidArgument(
          `${digest}: digest mismatch: its ${bytes.length} bytes have ${found} where ${size} bytes are announced`,
        );
      }
      return bytes;
    });
  }

  /** The answer that brings a blob, or its rest from a byte on (206); whether it did is for the caller to see. */
  openBlob(digest: string, from: number, signal: AbortSignal): Promise<HttpResponse> {
    const headers = { 'accept-encoding': 'identity', ...(from > 0 && { range: `bytes=${from}-` }) };
    return this.session.request({ method: 'GET', url: this.url(`blobs/${digest}`), headers, signal });
  }

  /** All tags. */
  async tags(signal: AbortSignal, onRetry?: OnRetry): Promise<string[]> {
    const tags: string[] = [];
    for await (const page of pages(this.session, this.url('tags/list'), { signal, onRetry })) {
      tags.push(
        ...(optional(page['tags'], 'tags/list.tags', asArray) ?? []).map((tag) => asString(tag, 'tag')),
      );
      if (tags.length > limits.registryTagsMax) {
        throw invalidArgument(`${this.path}: more than ${limits.registryTagsMax} tags`);
      }
    }
    return tags;
  }
}

/** The documents of a list in parts, each linked to the next (RFC 8288). */
export async function* pages(
  session: RegistrySession,
  first: URL,
  { signal, onRetry }: { signal: AbortSignal; onRetry?: OnRetry | undefined },
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let url: URL | undefined = first;
  for (let page = 0; url !== undefined && page < limits.registryPagesMax; page += 1) {
    const from: URL = url;
    const answer = await withRetries(
      signal,
      () => session.request({ method: 'GET', url: from, signal }),
      onRetry,
    );
    const bytes = await whole(answer, limits.manifestBytesMax);
    yield asObject(parseJson(bytes, from.pathname), from.pathname);
    const next: string | undefined = /<([^>]+)>\s*;\s*rel="?next"?/.exec(
      String(answer.headers['link'] ?? ''),
    )?.[1];
    const linked: URL | undefined =
      next !== undefined && URL.canParse(next, from.href) ? new URL(next, from) : undefined;
    url = linked?.origin === session.origin.origin ? linked : undefined;
  }
}

/** A body that must arrive to its end; one that is cut off is worth another attempt. */
async function whole(answer: HttpResponse, bytesMax: number): Promise<Buffer> {
  try {
    return await bytesOf(answer, bytesMax);
  } catch (error) {
    throw error instanceof EngineError
      ? error
      : new EngineError('remote', `the answer of a registry broke off`, {
          cause: error,
          details: { retryable: true },
        });
  }
}
