import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { Logger } from '../../../base/logger.ts';
import type { BlobFiles } from '../files/port.ts';
import { bytesOf } from './copies.ts';
import type { BlobPeers, Offered, OfferedBlob } from './port.ts';

interface Deps {
  /** All that this host holds. */
  files: Pick<BlobFiles, 'digests' | 'open' | 'size'>;
  peers: Pick<BlobPeers, 'others' | 'offer' | 'give'>;
  log: Logger;
}

/**
 * This host has the records no more, or soon: what it alone holds of what they name goes to a manager that has them.
 * Answers the digests that nobody took and somebody may want, empty = nothing is lost with this host. May be ended
 * anywhere, and be called again.
 */
export async function handOver(deps: Deps, signal: AbortSignal): Promise<string[]> {
  const left: string[] = [];
  const digests = await deps.files.digests();
  for (const [index, digest] of digests.entries()) {
    const size = await deps.files.size(digest);
    if (size === undefined) {
      continue;
    }
    const answer = signal.aborted
      ? 'unreachable'
      : await handOne(deps, { digest, size, isPush: false }, signal);
    if (answer === 'unreachable') {
      // Nobody answers: the others would only take as long.
      left.push(...digests.slice(index));
      break;
    }
    if (answer === 'refused') {
      left.push(digest);
    }
  }
  if (digests.length > 0) {
    deps.log.info({ held: digests.length, left: left.length }, 'blobs of the hub are with the managers');
  }
  return left;
}

async function handOne(
  { files, peers, log }: Deps,
  offer: OfferedBlob,
  signal: AbortSignal,
): Promise<'done' | 'refused' | 'unreachable'> {
  const answers = await Promise.all(
    peers.others().map(async (host) => ({ host, said: await askOne(peers, host, { offer, signal }) })),
  );
  if (answers.every(({ said }) => said === undefined)) {
    return 'unreachable';
  }
  const willing = answers.filter(({ said }) => said === 'wanted');
  if (willing.length === 0 || answers.some(({ said }) => said === 'held')) {
    return 'done';
  }
  for (const { host } of willing) {
    try {
      await using blob = await files.open(offer.digest);
      if (blob === undefined) {
        return 'done';
      }
      failpoint('hub.handover.give');
      await peers.give(host, offer, bytesOf(blob), signal);
      return 'done';
    } catch (error) {
      log.warn(
        { digest: offer.digest, host, reason: errorText(error) },
        'a manager did not take a blob of the hub',
      );
    }
  }
  return 'refused';
}

/** Undefined = it does not answer. */
async function askOne(
  peers: Pick<BlobPeers, 'offer'>,
  host: string,
  { offer, signal }: { offer: OfferedBlob; signal: AbortSignal },
): Promise<Offered | undefined> {
  try {
    return await peers.offer(host, offer, signal);
  } catch {
    // Whoever asked sees that it has no answer.
    return undefined;
  }
}
