import { EngineError, errnoOf, errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Descriptor } from '../image/descriptor.ts';
import type { GrowingSpool } from '../spool/growing-spool.ts';
import { isRetryable } from './failure.ts';
import type { HttpResponse } from './http.ts';
import type { RemoteRepository } from './repository.ts';
import { Attempts, type OnRetry } from './retry.ts';

/** Bytes gathered before one write. */
const WRITE_BYTES = 512 * 1024;

const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG', 'EBADF']);

/**
 * Brings a blob into a file. A connection that breaks, stalls or crawls is given up and the rest asked for on another
 * one (Range), with growing pauses while nothing arrives. The size is right when it resolves; the digest is checked by
 * the reader of the file.
 */
export async function downloadBlob(
  repository: RemoteRepository,
  blob: Pick<Descriptor, 'digest' | 'size'>,
  file: GrowingSpool,
  options: { signal: AbortSignal; onRetry?: OnRetry },
): Promise<void> {
  const { signal } = options;
  const attempts = new Attempts(signal, options.onRetry);
  let progressAt = 0;
  while (file.size < blob.size || blob.size === 0) {
    try {
      const answer = await repository.openBlob(blob.digest, file.size, signal);
      await begin(answer, blob, file);
      checkLength(answer, blob, file);
      await receive(answer, blob, file);
      failpoint('images.pull.download');
      return;
    } catch (error) {
      if (error instanceof EngineError && error.details['status'] === 416) {
        // It has less than what we have: what we have is not its beginning.
        await file.reset();
        await attempts.after(broken(blob, 'the registry cannot go on where it broke off'));
        continue;
      }
      if (file.size - progressAt >= limits.registryProgressBytes) {
        progressAt = file.size;
        attempts.progressed();
      }
      await attempts.after(asRetryable(blob, error));
    }
  }
}

/** Whether the answer goes on where the file ends; one that begins anew empties the file. */
async function begin(
  answer: HttpResponse,
  blob: Pick<Descriptor, 'digest'>,
  file: GrowingSpool,
): Promise<void> {
  if (answer.status === 206) {
    const from = /^bytes (\d+)-/.exec(answer.headers['content-range'] ?? '')?.[1];
    if (Number(from) !== file.size) {
      answer.body.destroy();
      throw broken(blob, `the registry goes on at byte ${from ?? '?'} instead of ${file.size}`);
    }
    return;
  }
  if (answer.status !== 200) {
    answer.body.destroy();
    throw invalidArgument(`${blob.digest}: the registry answers ${answer.status} to a request for a blob`);
  }
  if (file.size > 0) {
    await file.reset();
  }
}

/** A registry that announces another length has another blob: no attempt will change that. */
function checkLength(
  { headers, body }: HttpResponse,
  blob: Pick<Descriptor, 'digest' | 'size'>,
  file: GrowingSpool,
): void {
  const announced = headers['content-length'];
  if (announced !== undefined && Number(announced) !== blob.size - file.size) {
    body.destroy();
    throw invalidArgument(
      `${blob.digest}: the registry has ${file.size + Number(announced)} bytes where ${blob.size} are announced`,
    );
  }
}

async function receive(
  answer: HttpResponse,
  blob: Pick<Descriptor, 'digest' | 'size'>,
  file: GrowingSpool,
): Promise<void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    const chunks = pending;
    pending = [];
    pendingBytes = 0;
    await file.append(chunks);
  };
  const pace = new Pace();
  try {
    for await (const chunk of answer.body) {
      // A message without an encoding yields Buffers.
      const bytes = chunk as Buffer;
      pending.push(bytes);
      pendingBytes += bytes.length;
      if (file.size + pendingBytes > blob.size) {
        throw invalidArgument(`${blob.digest}: has more than the ${blob.size} bytes that are announced`);
      }
      if (pendingBytes >= WRITE_BYTES) {
        await flush();
      }
      if (!pace.keeps(bytes.length)) {
        throw broken(blob, 'the registry sends too slowly');
      }
    }
  } finally {
    answer.body.destroy();
    // What has arrived need not be sent again.
    await flush();
  }
  if (file.size < blob.size) {
    throw broken(blob, `cut off after ${file.size} of ${blob.size} bytes`);
  }
}

/** Tells a connection that crawls from one that is slow. */
class Pace {
  #since = performance.now();
  #bytes = 0;

  keeps(bytes: number): boolean {
    this.#bytes += bytes;
    const now = performance.now();
    if (now - this.#since < limits.registrySlowMs) {
      return true;
    }
    const enough = this.#bytes >= limits.registrySlowBytes;
    this.#since = now;
    this.#bytes = 0;
    return enough;
  }
}

function broken(blob: Pick<Descriptor, 'digest'>, why: string): EngineError {
  return new EngineError('remote', `${blob.digest}: ${why}`, { details: { retryable: true } });
}

/** Errors of a body's stream are plain; those of our own disk and rules are final. */
function asRetryable(blob: Pick<Descriptor, 'digest'>, error: unknown): unknown {
  if (error instanceof EngineError || isRetryable(error)) {
    return error;
  }
  return DISK_ERRORS.has(errnoOf(error) ?? '') ? error : broken(blob, errorText(error));
}
