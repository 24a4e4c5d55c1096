import { createSocket } from 'node:dgram';
import type { Socket as Datagrams } from 'node:dgram';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { sendUnixDatagram } from '../../daemon/base/kernel/sockets/unix-datagram.ts';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import type { LogOptions } from './common-options.ts';
import type { LoggedContainer } from './logged-container.ts';
import { connectTo, parseReceiver, readOptionFile } from './receiver-address.ts';
import type { ReceiverAddress } from './receiver-address.ts';
import { terms } from './sink.ts';
import type { LogSink, SinkTerms } from './sink.ts';
import { StreamConnection } from './stream-connection.ts';
import { DEFAULT_TAG, renderTag } from './tag.ts';

export const SYSLOG_OPTIONS = [
  'syslog-address',
  'syslog-facility',
  'syslog-format',
  'syslog-tls-ca-cert',
  'syslog-tls-cert',
  'syslog-tls-key',
  'syslog-tls-skip-verify',
];

/** In the order of their numbers (RFC 5424, table 1). */
const FACILITIES =
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp 12 13 14 15 ' +
  'local0 local1 local2 local3 local4 local5 local6 local7';
const DAEMON_FACILITY = 3;
const PORT = 514;
const SEVERITY = { stdout: 6, stderr: 3 };
/** Where a host's own syslog listens. */
const LOCAL_SOCKETS = ['/dev/log', '/var/run/syslog', '/var/run/log'];

interface Syslog {
  /** Undefined = this host's own. */
  address: ReceiverAddress | undefined;
  facility: number;
  format: string;
}

/** Checks and reads the options. Throws invalid_argument. Pure. */
export function parseSyslog(options: LogOptions): Syslog {
  const address = options['syslog-address'];
  const format = options['syslog-format'] ?? '';
  if (!['', 'rfc3164', 'rfc5424', 'rfc5424micro'].includes(format)) {
    throw invalidArgument('Invalid syslog format');
  }
  return {
    address: address
      ? parseReceiver(address, {
          what: 'syslog-address',
          schemes: ['udp', 'tcp', 'tcp+tls', 'unix', 'unixgram'],
          port: PORT,
        })
      : undefined,
    facility: parseFacility(options['syslog-facility'] ?? ''),
    format,
  };
}

function parseFacility(text: string): number {
  const named = FACILITIES.split(' ').indexOf(text);
  const number = /^\d+$/.test(text) ? Number(text) : named;
  if (text === '') {
    return DAEMON_FACILITY;
  }
  if (number < 0 || number > 23) {
    throw invalidArgument('invalid syslog facility');
  }
  return number;
}

/** Messages to a syslog server, each with the time at which it was written. */
export function openSyslog(container: LoggedContainer, options: LogOptions): SinkTerms {
  const { address, facility, format } = parseSyslog(options);
  const tag = renderTag(options['tag'] ?? DEFAULT_TAG, container);
  const isFramed = format.startsWith('rfc5424') && address?.scheme === 'tcp+tls';
  const encode = (message: LogMessage): Buffer => {
    const head = header(format, {
      priority: facility * 8 + SEVERITY[message.stream],
      tag,
      nano: message.nano,
    });
    const text = Buffer.concat([Buffer.from(head), message.line, Buffer.from('\n')]);
    // RFC 5425: a message over TLS says its length.
    return isFramed ? Buffer.concat([Buffer.from(`${text.length} `), text]) : text;
  };
  return terms(sinkFor(address, options, encode));
}

function sinkFor(
  address: ReceiverAddress | undefined,
  options: LogOptions,
  encode: (message: LogMessage) => Buffer,
): LogSink {
  if (address === undefined || address.scheme === 'unixgram') {
    return new DatagramSink(() => localSocket(address), encode);
  }
  if (address.scheme === 'udp') {
    return new UdpSink(address, (message) => [encode(message)]);
  }
  const isTls = address.scheme === 'tcp+tls';
  const tls = isTls ? tlsOptions(options) : undefined;
  const connection = new StreamConnection(() => connectTo(address, tls), isTls ? 'secureConnect' : 'connect');
  return streamSink(connection, encode);
}

/** Messages one after the other over a stream. */
export function streamSink(connection: StreamConnection, encode: (message: LogMessage) => Buffer): LogSink {
  return {
    connect: () => connection.open(),
    send: (messages) => connection.write(Buffer.concat(messages.map((message) => encode(message)))),
    close: () => connection.close(),
  };
}

function tlsOptions(options: LogOptions): Record<string, unknown> {
  const file = (key: string): string | undefined => {
    const path = options[`syslog-tls-${key}`];
    return path ? readOptionFile(`syslog-tls-${key}`, path) : undefined;
  };
  return {
    ca: file('ca-cert'),
    cert: file('cert'),
    key: file('key'),
    // As in dockerd: the option is there or not, whatever it says.
    rejectUnauthorized: options['syslog-tls-skip-verify'] === undefined,
  };
}

function localSocket(address: ReceiverAddress | undefined): string {
  if (address !== undefined && 'path' in address) {
    return address.path;
  }
  const found = LOCAL_SOCKETS.find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('Unix syslog delivery error: no local syslog socket');
  }
  return found;
}

/** Datagrams to a Unix socket: the kernel says at once whether the receiver's queue has room. */
class DatagramSink implements LogSink {
  readonly #path: () => string;
  readonly #encode: (message: LogMessage) => Buffer;

  constructor(path: () => string, encode: (message: LogMessage) => Buffer) {
    this.#path = path;
    this.#encode = encode;
  }

  async connect(): Promise<void> {
    const path = this.#path();
    if (!existsSync(path)) {
      throw new Error(`dial unixgram ${path}: no such file or directory`);
    }
  }

  async send(messages: readonly LogMessage[]): Promise<void> {
    const path = this.#path();
    messages.forEach((message) => sendUnixDatagram(path, this.#encode(message)));
  }

  close(): void {
    // A socket per message: nothing is open.
  }
}

/** Datagrams over UDP. Whether they arrive is not known. */
export class UdpSink implements LogSink {
  readonly #address: { host: string; port: number };
  readonly #encode: (message: LogMessage) => Buffer[];
  #socket: Datagrams | undefined;

  constructor(address: ReceiverAddress, encode: (message: LogMessage) => Buffer[]) {
    this.#address = 'path' in address ? { host: '', port: 0 } : address;
    this.#encode = encode;
  }

  async send(messages: readonly LogMessage[]): Promise<void> {
    const { host, port } = this.#address;
    this.#socket ??= createSocket(host.includes(':') ? 'udp6' : 'udp4').unref();
    const socket = this.#socket;
    socket.on('error', () => undefined);
    for (const datagram of messages.flatMap((message) => this.#encode(message))) {
      await new Promise<void>((resolve, reject) => {
        socket.send(datagram, port, host, (error) => (error ? reject(error) : resolve()));
      });
    }
    socket.removeAllListeners('error');
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}

function header(
  format: string,
  { priority, tag, nano }: { priority: number; tag: string; nano: bigint },
): string {
  const date = new Date(Number(nano / 1_000_000n));
  switch (format) {
    case 'rfc5424':
      return `<${priority}>1 ${rfc3339(date, '')} ${hostname()} ${tag} ${process.pid} ${tag} - `;
    case 'rfc5424micro': {
      const micros = `.${String((nano / 1000n) % 1_000_000n).padStart(6, '0')}`;
      return `<${priority}>1 ${rfc3339(date, micros)} ${hostname()} ${tag} ${process.pid} ${tag} - `;
    }
    case 'rfc3164':
      return `<${priority}>${stamp(date)} ${hostname()} ${tag}[${process.pid}]: `;
    default:
      return `<${priority}>${stamp(date)} ${tag}[${process.pid}]: `;
  }
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `Jan  2 15:04:05` in local time. */
function stamp(date: Date): string {
  return `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${clockTime(date)}`;
}

function rfc3339(date: Date, fraction: string): string {
  const offset = -date.getTimezoneOffset();
  const hours = two(Math.trunc(Math.abs(offset) / 60));
  const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${hours}:${two(Math.abs(offset) % 60)}`;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${clockTime(date)}${fraction}${zone}`;
}

function clockTime(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
