import { existsSync } from 'node:fs';
import { formatNano } from '../../daemon/base/clock.ts';
import { sendUnixDatagram } from '../../daemon/base/kernel/sockets/unix-datagram.ts';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import { extraAttributes } from './attributes.ts';
import type { LogOptions } from './common-options.ts';
import type { LoggedContainer } from './logged-container.ts';
import { terms } from './sink.ts';
import type { SinkTerms } from './sink.ts';
import { DEFAULT_TAG, renderTag } from './tag.ts';

/** Tests have a journal of their own. */
const SOCKET = process.env['BERTH_JOURNAL_SOCKET'] ?? '/run/systemd/journal/socket';
const PRIORITY = { stdout: '6', stderr: '3' };

/** Messages to systemd's journal, by its native protocol. */
export function openJournald(container: LoggedContainer, options: LogOptions, socket = SOCKET): SinkTerms {
  const tag = renderTag(options['tag'] ?? DEFAULT_TAG, container);
  const fields = {
    CONTAINER_ID: container.id.slice(0, 12),
    CONTAINER_ID_FULL: container.id,
    CONTAINER_NAME: container.name,
    CONTAINER_TAG: tag,
    IMAGE_NAME: container.imageName,
    SYSLOG_IDENTIFIER: tag,
    ...Object.fromEntries(
      Object.entries(extraAttributes(container, options)).flatMap(([key, value]) => {
        const name = fieldName(key);
        return name === '' ? [] : [[name, value]];
      }),
    ),
  };
  const shared = Object.entries(fields).map(([name, value]) => field(name, Buffer.from(value)));
  const encode = ({ stream, nano, line, partial }: LogMessage): Buffer =>
    Buffer.concat([
      field('MESSAGE', line),
      field('PRIORITY', Buffer.from(PRIORITY[stream])),
      field('SYSLOG_TIMESTAMP', Buffer.from(formatNano(nano))),
      ...shared,
      ...(partial === undefined ? [] : partialFields(partial)),
    ]);
  return terms({
    connect: async () => {
      if (!existsSync(socket)) {
        throw new Error('journald is not enabled on this host');
      }
    },
    send: async (messages) => messages.forEach((message) => sendUnixDatagram(socket, encode(message))),
    close: () => undefined,
  });
}

function partialFields({ id, ordinal, last }: NonNullable<LogMessage['partial']>): Buffer[] {
  return [
    field('CONTAINER_PARTIAL_ID', Buffer.from(id)),
    field('CONTAINER_PARTIAL_ORDINAL', Buffer.from(String(ordinal))),
    field('CONTAINER_PARTIAL_LAST', Buffer.from(String(last))),
    // Readers put the pieces together by this field: the last ends the line.
    ...(last ? [] : [field('CONTAINER_PARTIAL_MESSAGE', Buffer.from('true'))]),
  ];
}

/** `NAME=value`, or with its length in front where the value has a newline. */
function field(name: string, value: Buffer): Buffer {
  if (!value.includes(0x0a)) {
    return Buffer.concat([Buffer.from(`${name}=`), value, Buffer.from('\n')]);
  }
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(value.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, value, Buffer.from('\n')]);
}

/** Names of fields are of capitals, digits and underscores, and do not begin with one. */
function fieldName(key: string): string {
  return key
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_')
    .replace(/^_+/, '');
}
