import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';
import type { HistoryBlob } from '../../../api/types/build/history.ts';
import type { BuildHistoryBlobRow } from '../../../storage/database/rows.ts';

const pack = promisify(deflate);
const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate);

/** Bytes of a record on their way to the table. */
export interface NewBlob {
  blob: HistoryBlob;
  row: BuildHistoryBlobRow;
}

export async function makeBlob(
  bytes: Buffer,
  mediaType: string,
  annotations: HistoryBlob['annotations'] = {},
): Promise<NewBlob> {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  // A build's answer waits for it.
  const data = await pack(bytes, { level: constants.Z_BEST_SPEED });
  return {
    blob: { mediaType, digest, bytes: bytes.length, annotations },
    row: { digest, sizeBytes: bytes.length, data },
  };
}

/** Rejects where the row is damaged. */
export async function openBlob({ data, sizeBytes }: BuildHistoryBlobRow): Promise<Buffer> {
  return await unpack(data, { maxOutputLength: Math.max(sizeBytes, 1) });
}
