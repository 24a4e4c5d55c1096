import { randomBytes } from 'node:crypto';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { parseDuration } from '../../daemon/base/go/duration.ts';
import { parseBool, parseSize } from '../../daemon/base/go/values.ts';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import { extraAttributes } from './attributes.ts';
import type { LogOptions } from './common-options.ts';
import type { LoggedContainer } from './logged-container.ts';
import { eventTime, pack } from './msgpack.ts';
import type { Packable } from './msgpack.ts';
import { connectTo, parseReceiver } from './receiver-address.ts';
import type { ReceiverAddress } from './receiver-address.ts';
import { terms } from './sink.ts';
import type { SinkTerms } from './sink.ts';
import { StreamConnection } from './stream-connection.ts';
import { DEFAULT_TAG, renderTag } from './tag.ts';

export const FLUENTD_OPTIONS = [
  'fluentd-address',
  'fluentd-async',
  'fluentd-async-connect',
  'fluentd-async-reconnect-interval',
  'fluentd-buffer-limit',
  'fluentd-max-retries',
  'fluentd-request-ack',
  'fluentd-retry-wait',
  'fluentd-sub-second-precision',
  'fluentd-write-timeout',
];

const DEFAULT_ADDRESS = 'tcp://127.0.0.1:24224';
const PORT = 24_224;
const BUFFER_BYTES = 1024 * 1024;
const RETRY_WAIT_MS = 1000;
const CHUNK_ID_BYTES = 16;

interface Fluentd {
  address: ReceiverAddress;
  isAsync: boolean;
  requestAck: boolean;
  subSecond: boolean;
  /** Bytes of one request; what waits longer lies in the spool. */
  requestBytesMax: number;
  retryWaitMs: number;
  retriesMax: number | null;
}

/** Checks and reads the options. Throws invalid_argument. Pure. */
export function parseFluentd(options: LogOptions): Fluentd {
  const text = options['fluentd-address'] || DEFAULT_ADDRESS;
  const flag = (key: string): boolean => options[key] !== undefined && parseBool(options[key]);
  const retries = options['fluentd-max-retries'];
  if (options['fluentd-async'] && options['fluentd-async-connect']) {
    throw invalidArgument(
      "conflicting options: cannot specify both 'fluentd-async' and 'fluentd-async-connect'",
    );
  }
  if (retries !== undefined && !/^\d+$/.test(retries)) {
    throw invalidArgument(`strconv.ParseUint: parsing ${JSON.stringify(retries)}: invalid syntax`);
  }
  for (const key of ['fluentd-async-reconnect-interval', 'fluentd-write-timeout']) {
    durationMs(options[key] ?? '0');
  }
  return {
    address: parseReceiver(text.includes('://') ? text : `tcp://${text}`, {
      what: 'fluentd-address',
      schemes: ['tcp', 'tls', 'unix'],
      port: PORT,
    }),
    isAsync: flag('fluentd-async') || flag('fluentd-async-connect'),
    requestAck: flag('fluentd-request-ack'),
    subSecond: flag('fluentd-sub-second-precision'),
    requestBytesMax: parseSize(options['fluentd-buffer-limit'] ?? String(BUFFER_BYTES), 1024),
    retryWaitMs: durationMs(options['fluentd-retry-wait'] ?? `${RETRY_WAIT_MS}ms`),
    retriesMax: retries === undefined ? null : Number(retries),
  };
}

function durationMs(text: string): number {
  const nano = parseDuration(text);
  if (nano === undefined || nano < 0n) {
    throw invalidArgument(`time: invalid duration ${JSON.stringify(text)}`);
  }
  return Number(nano) / 1e6;
}

/** Messages to fluentd or fluent-bit, by the forward protocol (mode Forward), acknowledged where asked for. */
export function openFluentd(container: LoggedContainer, options: LogOptions): SinkTerms {
  const { address, isAsync, requestAck, subSecond, requestBytesMax, retryWaitMs, retriesMax } =
    parseFluentd(options);
  const tag = renderTag(options['tag'] ?? DEFAULT_TAG, container);
  const extra = extraAttributes(container, options);
  const isTls = address.scheme === 'tls';
  const connection = new StreamConnection(
    () => connectTo(address, isTls ? {} : undefined),
    isTls ? 'secureConnect' : 'connect',
  );
  const entry = ({ stream, nano, line, partial }: LogMessage): Packable => [
    subSecond ? eventTime(nano) : Number(nano / 1_000_000_000n),
    {
      container_id: container.id,
      container_name: `/${container.name}`,
      source: stream,
      log: line,
      ...extra,
      ...(partial && {
        partial_message: 'true',
        partial_id: partial.id,
        partial_ordinal: String(partial.ordinal),
        partial_last: String(partial.last),
      }),
    },
  ];
  const post = async (messages: readonly LogMessage[]): Promise<void> => {
    const chunk = randomBytes(CHUNK_ID_BYTES).toString('base64');
    const option = { size: messages.length, ...(requestAck && { chunk }) };
    await connection.write(pack([tag, messages.map((message) => entry(message)), option]));
    if (requestAck) {
      await connection.answered(chunk);
    }
  };
  const sink = {
    ...(!isAsync && { connect: () => connection.open() }),
    send: async (messages: readonly LogMessage[]) => {
      for (const part of portions(messages, requestBytesMax)) {
        await post(part);
      }
    },
    close: () => connection.close(),
  };
  return terms(sink, { retryWaitMs, retriesMax });
}

/** Messages in portions of about this many bytes. */
function portions(messages: readonly LogMessage[], bytesMax: number): LogMessage[][] {
  const all: LogMessage[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    if (bytes + message.line.length > bytesMax) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(message);
    bytes += message.line.length;
  }
  return all;
}
