import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { EngineError, isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { isOccurrence } from '../../daemon/base/occurrence.ts';
import { isRetryable } from './failure.ts';
import type { HttpResponse } from './http.ts';
import type { RemoteRepository } from './repository.ts';
import { Attempts, withRetries } from './retry.ts';
import { drain } from './session.ts';

/** Header that shows the hub of this host what the engine offers it (api/hub/registry/uploads.ts). */
const TICKET = 'berth-layer';

/** Header in which a hub says what it calls a push (api/hub/registry/manifests.ts). */
const OCCURRENCE_HEADER = 'x-svc-occurrence';

/** Bytes to upload: in a file that stays open, or in memory. */
export interface UploadSource {
  digest: string;
  size: number;
  /** The bytes from one on. */
  read(from: number): Buffer | Readable;
}

/** A blob in an open file. `sent` is told how far the registry has been given it. */
export function fileSource(
  blob: { fd: number; digest: string; size: number },
  sent: (bytes: number) => void,
): UploadSource {
  return {
    digest: blob.digest,
    size: blob.size,
    read: (from) => {
      const stream = createReadStream('', {
        fd: blob.fd,
        autoClose: false,
        start: from,
        end: blob.size - 1,
        highWaterMark: 256 * 1024,
      });
      let done = from;
      stream.on('data', (chunk) => {
        done += chunk.length;
        sent(done);
      });
      return stream;
    },
  };
}

/** True when the repository has a blob. */
export async function hasBlob(
  repository: RemoteRepository,
  digest: string,
  signal: AbortSignal,
): Promise<boolean> {
  const url = repository.url(`blobs/${digest}`);
  try {
    await drain(await withRetries(signal, () => repository.session.request({ method: 'HEAD', url, signal })));
    return true;
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return false;
    }
    throw error;
  }
}

/** Asks for a blob of another repository of the same registry. Resolves with false when it is not given. */
export async function mountBlob(
  repository: RemoteRepository,
  blob: { digest: string; from: string },
  signal: AbortSignal,
): Promise<boolean> {
  const url = repository.url('blobs/uploads/');
  url.searchParams.set('mount', blob.digest);
  url.searchParams.set('from', blob.from);
  repository.session.want([`repository:${blob.from}:pull`]);
  const answer = await withRetries(signal, () => begin(repository, url, signal));
  return await isMounted(repository, { url, answer }, signal);
}

async function isMounted(
  repository: RemoteRepository,
  { url, answer }: { url: URL; answer: HttpResponse },
  signal: AbortSignal,
): Promise<boolean> {
  await drain(answer);
  failpoint('images.push.mount');
  if (answer.status === 201) {
    return true;
  }
  // An upload was begun instead, and is abandoned.
  const location = answer.headers.location;
  if (location !== undefined) {
    await cancelUpload(repository, new URL(location, url), signal);
  }
  return false;
}

/**
 * Gives a layer's tar to the hub of this host, which has it from the engine. False = it is not there: another manager's
 * hub answers at that address.
 */
export async function shareLayer(
  repository: RemoteRepository,
  { digest, ticket }: { digest: string; ticket: string },
  signal: AbortSignal,
): Promise<boolean> {
  const url = repository.url('blobs/uploads/');
  url.searchParams.set('mount', digest);
  const answer = await withRetries(signal, () => begin(repository, url, signal, { [TICKET]: ticket }));
  return await isMounted(repository, { url, answer }, signal);
}

/**
 * Uploads a blob: begun by POST, its bytes by PATCH, ended by PUT with the digest. What broke off goes on from where
 * the registry says it is, or begins again.
 */
export async function uploadBlob(
  repository: RemoteRepository,
  source: UploadSource,
  options: { signal: AbortSignal; onRetry?: (delayMs: number) => void },
): Promise<void> {
  const { signal } = options;
  const attempts = new Attempts(signal, options.onRetry);
  let upload: { url: URL; offset: number } | undefined;
  for (;;) {
    try {
      upload ??= await startUpload(repository, signal);
      await sendBlob(repository, source, upload, signal);
      failpoint('images.push.blob');
      return;
    } catch (error) {
      await attempts.after(asRetryable(source, error));
      upload = upload && (await resumeUpload(repository, upload.url, signal));
    }
  }
}

async function startUpload(
  repository: RemoteRepository,
  signal: AbortSignal,
): Promise<{ url: URL; offset: number }> {
  const url = repository.url('blobs/uploads/');
  const answer = await begin(repository, url, signal);
  await drain(answer);
  return { url: locationOf(answer.headers.location, url), offset: 0 };
}

async function sendBlob(
  repository: RemoteRepository,
  source: UploadSource,
  upload: { url: URL; offset: number },
  signal: AbortSignal,
): Promise<void> {
  const { session } = repository;
  if (upload.offset < source.size) {
    const answer = await session.request({
      method: 'PATCH',
      url: upload.url,
      headers: {
        'content-type': 'application/octet-stream',
        'content-length': String(source.size - upload.offset),
        ...(upload.offset > 0 && { 'content-range': `${upload.offset}-${source.size - 1}` }),
      },
      body: () => source.read(upload.offset),
      signal,
    });
    await drain(answer);
    upload.url = locationOf(answer.headers.location, upload.url);
    upload.offset = source.size;
  }
  const url = new URL(upload.url);
  url.searchParams.set('digest', source.digest);
  await drain(await session.request({ method: 'PUT', url, headers: { 'content-length': '0' }, signal }));
}

/** Where an upload is; undefined when the registry knows nothing of it any more. */
async function resumeUpload(
  repository: RemoteRepository,
  url: URL,
  signal: AbortSignal,
): Promise<{ url: URL; offset: number } | undefined> {
  try {
    const answer = await repository.session.request({ method: 'GET', url, signal });
    await drain(answer);
    const last = /^(?:bytes=)?0-(\d+)$/.exec(answer.headers.range ?? '')?.[1];
    if (answer.status !== 204 || last === undefined) {
      return undefined;
    }
    // "0-0" stands for nothing as well as for one byte: then the one byte is sent again.
    const offset = Number(last) === 0 ? 0 : Number(last) + 1;
    return { url: locationOf(answer.headers.location ?? url.href, url), offset };
  } catch (error) {
    if (isEngineError(error, 'canceled')) {
      throw error;
    }
    // Not even that can be asked now: the next attempt begins anew.
    return undefined;
  }
}

async function cancelUpload(repository: RemoteRepository, url: URL, signal: AbortSignal): Promise<void> {
  try {
    await drain(await repository.session.request({ method: 'DELETE', url, signal }));
  } catch {
    // Registries forget uploads by themselves; this only spares them the wait.
  }
}

/** Stores a manifest under a tag. Answers what a hub calls that; undefined = it is none, or nothing was moved. */
export async function putManifest(
  repository: RemoteRepository,
  tag: string,
  manifest: { bytes: Buffer; mediaType: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const url = repository.url(`manifests/${tag}`);
  const occurrence = await withRetries(signal, async () => {
    const answer = await repository.session.request({
      method: 'PUT',
      url,
      headers: {
        'content-type': manifest.mediaType,
        'content-length': String(manifest.bytes.length),
      },
      body: () => manifest.bytes,
      signal,
    });
    await drain(answer);
    const told = answer.headers[OCCURRENCE_HEADER];
    return isOccurrence(told) ? told : undefined;
  });
  failpoint('images.push.manifest');
  return occurrence;
}

function begin(
  repository: RemoteRepository,
  url: URL,
  signal: AbortSignal,
  more: Record<string, string> = {},
): Promise<HttpResponse> {
  const headers = { 'content-length': '0', ...more };
  return repository.session.request({ method: 'POST', url, headers, signal });
}

function locationOf(location: string | undefined, url: URL): URL {
  if (location === undefined || !URL.canParse(location, url.href)) {
    throw new EngineError('remote', `${url.host} does not say where to upload to`);
  }
  return new URL(location, url);
}

/** An upload whose state the registry disputes (416, a wrong range) is begun anew like one that broke. */
function asRetryable(source: UploadSource, error: unknown): unknown {
  if (isRetryable(error) || !(error instanceof EngineError)) {
    return error;
  }
  const { status, code } = error.details;
  return status === 416 || code === 'BLOB_UPLOAD_UNKNOWN' || code === 'BLOB_UPLOAD_INVALID'
    ? new EngineError('remote', `${source.digest}: ${error.message}`, { details: { retryable: true } })
    : error;
}
