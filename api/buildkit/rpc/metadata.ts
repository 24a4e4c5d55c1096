import type { OutgoingHttpHeaders } from 'node:http2';
import { EngineError } from '../../../daemon/base/errors.ts';

/** Names in lower case, each with all its values in the order in which they were sent. */
export type Metadata = ReadonlyMap<string, readonly string[]>;

/** Headers that belong to the call itself. */
const OF_THE_CALL = /^(?::|grpc-|content-type$|te$|user-agent$)/;

/**
 * The metadata of a call from `rawHeaders`, names and values in turn: Node's `headers` object joins repeated ones by
 * commas, which file names have too.
 */
export function metadataOf(rawHeaders: readonly string[]): Map<string, string[]> {
  const metadata = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (!OF_THE_CALL.test(name)) {
      const values = metadata.get(name) ?? [];
      metadata.set(name, values);
      values.push(rawHeaders[index + 1] ?? '');
    }
  }
  return metadata;
}

/** For a call of ours. Throws invalid_argument for what no header can carry. */
export function headersOf(metadata: Metadata): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values] of metadata) {
    const wrong = values.find((value) => !/^[\x20-\x7e]*$/.test(value));
    if (wrong !== undefined) {
      throw new EngineError('invalid_argument', `metadata ${name}: ${JSON.stringify(wrong)} is not ASCII`);
    }
    headers[name] = [...values];
  }
  return headers;
}

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const MS_OF: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1 / 1000,
  n: 1 / 1_000_000,
};

/** `grpc-timeout` in milliseconds; undefined = none, or nothing that is one. */
export function timeoutMsOf(text: string | undefined): number | undefined {
  const [, amount, unit = ''] = TIMEOUT.exec(text ?? '') ?? [];
  const factor = MS_OF[unit];
  return amount === undefined || factor === undefined ? undefined : Math.ceil(Number(amount) * factor);
}
