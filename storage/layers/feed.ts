import { createHash } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { EngineError } from '../../daemon/base/errors.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { TarParser, type TarSink } from '../tar/parser.ts';
import type { ApplyControl, ApplyRequest } from './apply-request.ts';
import { decompressRange, rangeFormat, readRange } from './source.ts';

export interface Digests {
  diffId: string;
  digest: string;
  tarBytes: number;
}

/** Pushes the blob through the parser, hashing what is stored and what comes out. */
export async function feed(request: ApplyRequest, applier: TarSink, control: ApplyControl): Promise<Digests> {
  const { what, directory } = request;
  const parser = new TarParser(applier, what);
  const stored = createHash('sha256');
  const unpacked = createHash('sha256');
  let read = 0;
  const reserve = new DiskReserve(
    () => freeBytesOf(directory),
    `${what}: no space left on device (${directory})`,
  );
  const seen = (chunk: Buffer): void => {
    if (control.isCanceled()) {
      throw new EngineError('canceled', `${what}: canceled`);
    }
    read += chunk.length;
    control.progress(read);
  };
  const take = (chunk: Buffer): void => {
    reserve.check(parser.position);
    unpacked.update(chunk);
    parser.push(chunk);
  };
  const format = rangeFormat(request.blob, what);
  if (format !== undefined) {
    const seenStored = (chunk: Buffer): void => {
      seen(chunk);
      stored.update(chunk);
    };
    for await (const chunk of decompressRange(request.blob, format, { what, seen: seenStored })) {
      take(chunk);
    }
  } else {
    for (const chunk of readRange(request.blob, what)) {
      seen(chunk);
      take(chunk);
    }
  }
  parser.end();
  const diffId = `sha256:${unpacked.digest('hex')}`;
  const digest = format === undefined ? diffId : `sha256:${stored.digest('hex')}`;
  return { diffId, digest, tarBytes: parser.position };
}

function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
