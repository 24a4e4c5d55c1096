import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { deflateSync, gzipSync } from 'node:zlib';
import { formatNano } from '../../daemon/base/clock.ts';
import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { parseInteger } from '../../daemon/base/go/values.ts';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import { extraAttributes } from './attributes.ts';
import type { LogOptions } from './common-options.ts';
import type { LoggedContainer } from './logged-container.ts';
import { connectTo, parseReceiver } from './receiver-address.ts';
import type { ReceiverAddress } from './receiver-address.ts';
import { RejectedError, terms } from './sink.ts';
import type { SinkTerms } from './sink.ts';
import { StreamConnection } from './stream-connection.ts';
import { streamSink, UdpSink } from './syslog.ts';
import { DEFAULT_TAG, renderTag } from './tag.ts';

export const GELF_OPTIONS = [
  'gelf-address',
  'gelf-compression-level',
  'gelf-compression-type',
  'gelf-tcp-max-reconnect',
  'gelf-tcp-reconnect-delay',
];

/** What a datagram carries of a chunked message, after a header of twelve bytes. */
const CHUNK_BYTES = 1420 - 12;
const CHUNKS_MAX = 128;
const LEVEL = { stdout: 6, stderr: 3 };

interface Gelf {
  address: ReceiverAddress;
  pack: (json: Buffer) => Buffer;
  reconnects: number | null;
  reconnectDelayMs: number | null;
}

/** Checks and reads the options. Throws invalid_argument. Pure. */
export function parseGelf(options: LogOptions): Gelf {
  const text = options['gelf-address'] ?? '';
  if (text === '') {
    throw invalidArgument('gelf-address is a required parameter');
  }
  const address = parseReceiver(text, { what: 'gelf-address', schemes: ['udp', 'tcp'], port: null });
  const only = address.scheme === 'udp' ? 'tcp' : 'compression';
  const wrong = Object.keys(options).find((key) => key.startsWith(`gelf-${only}`));
  if (wrong !== undefined) {
    throw invalidArgument(`${wrong} is only supported for ${address.scheme === 'udp' ? 'TCP' : 'UDP'}`);
  }
  const delayS = positive(options, 'gelf-tcp-reconnect-delay');
  return {
    address,
    pack: packing(options),
    reconnects: positive(options, 'gelf-tcp-max-reconnect'),
    reconnectDelayMs: delayS === null ? null : delayS * 1000,
  };
}

function positive(options: LogOptions, key: string): number | null {
  const text = options[key];
  if (text !== undefined && !/^\d+$/.test(text)) {
    throw invalidArgument(`${JSON.stringify(key)} must be a positive integer`);
  }
  return text === undefined ? null : Number(text);
}

function packing(options: LogOptions): Gelf['pack'] {
  const refuse = (key: string): Error =>
    invalidArgument(
      `unknown value ${JSON.stringify(options[key])} for log opt ${JSON.stringify(key)} for gelf log driver`,
    );
  let level: number;
  try {
    level = parseInteger(options['gelf-compression-level'] ?? '1');
  } catch (error) {
    throw invalidArgument(`${refuse('gelf-compression-level').message}: ${errorText(error)}`);
  }
  if (level < -1 || level > 9) {
    throw refuse('gelf-compression-level');
  }
  switch (options['gelf-compression-type'] ?? 'gzip') {
    case 'gzip':
      return (json) => gzipSync(json, { level });
    case 'zlib':
      return (json) => deflateSync(json, { level });
    case 'none':
      return (json) => json;
    default:
      throw refuse('gelf-compression-type');
  }
}

/** Messages to Graylog and what speaks its format (GELF 1.1). */
export function openGelf(container: LoggedContainer, options: LogOptions): SinkTerms {
  const { address, pack, reconnects, reconnectDelayMs } = parseGelf(options);
  const attributes = Object.entries(extraAttributes(container, options));
  const extra = {
    _container_id: container.id,
    _container_name: container.name,
    _image_id: container.imageId,
    _image_name: container.imageName,
    _command: [container.path, ...container.args].join(' '),
    _tag: renderTag(options['tag'] ?? DEFAULT_TAG, container),
    _created: formatNano(container.createdNano),
    ...Object.fromEntries(attributes.map(([key, value]) => [key.startsWith('_') ? key : `_${key}`, value])),
  };
  const encode = ({ stream, nano, line }: LogMessage): Buffer =>
    Buffer.from(
      JSON.stringify({
        version: '1.1',
        host: hostname(),
        short_message: line.toString(),
        timestamp: Number(nano / 1_000_000n) / 1000,
        level: LEVEL[stream],
        ...extra,
      }),
    );
  if (address.scheme === 'udp') {
    return terms(new UdpSink(address, (message) => chunks(pack(encode(message)))));
  }
  const connection = new StreamConnection(() => connectTo(address));
  // Over TCP a message ends with a zero byte.
  const sink = streamSink(connection, (message) => Buffer.concat([encode(message), Buffer.alloc(1)]));
  return terms(sink, {
    retriesMax: reconnects,
    ...(reconnectDelayMs !== null && { retryWaitMs: reconnectDelayMs }),
  });
}

/** Datagrams of one message: alone, or in numbered parts that share an id. Throws RejectedError when it is too long. */
function chunks(data: Buffer): Buffer[] {
  if (data.length <= CHUNK_BYTES + 12) {
    return [data];
  }
  const count = Math.ceil(data.length / CHUNK_BYTES);
  if (count > CHUNKS_MAX) {
    throw new RejectedError(`gelf: a message of ${data.length} bytes does not fit ${CHUNKS_MAX} datagrams`);
  }
  const id = randomBytes(8);
  return Array.from({ length: count }, (_, index) =>
    Buffer.concat([
      Buffer.from([0x1e, 0x0f]),
      id,
      Buffer.from([index, count]),
      data.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
    ]),
  );
}
