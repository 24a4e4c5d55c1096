import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { gzipSync } from 'node:zlib';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { parseBool, parseInteger } from '../../daemon/base/go/values.ts';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import { extraAttributes } from './attributes.ts';
import type { LogOptions } from './common-options.ts';
import { callHttp } from '../http/call.ts';
import type { LoggedContainer } from './logged-container.ts';
import { readOptionFile } from './receiver-address.ts';
import { RejectedError, terms } from './sink.ts';
import type { LogSink, SinkTerms } from './sink.ts';
import { DEFAULT_TAG, renderTag } from './tag.ts';

export const SPLUNK_OPTIONS = [
  'splunk-url',
  'splunk-token',
  'splunk-source',
  'splunk-sourcetype',
  'splunk-index',
  'splunk-capath',
  'splunk-caname',
  'splunk-insecureskipverify',
  'splunk-format',
  'splunk-verify-connection',
  'splunk-gzip',
  'splunk-gzip-level',
  'splunk-index-acknowledgment',
];

const COLLECTOR = '/services/collector/event/1.0';
const MESSAGE_BYTES_MAX = 80 * 1024;
const LINGER_MS = 1000;
/** As many as dockerd puts into one request. */
const REQUEST_MESSAGES = 1000;

interface Splunk {
  url: URL;
  token: string;
  format: 'inline' | 'json' | 'raw';
  verifies: boolean;
  gzipLevel: number | null;
  skipsVerify: boolean;
  acknowledges: boolean;
}

/** Checks and reads the options. Throws invalid_argument with dockerd's texts. Pure. */
export function parseSplunk(options: LogOptions): Splunk {
  const token = options['splunk-token'];
  const text = options['splunk-url'];
  if (text === undefined) {
    throw invalidArgument('splunk: splunk-url is expected');
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.pathname === '/' && url.search === '' && url.hash === '';
  if (url === undefined || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw invalidArgument('splunk: expected format scheme://dns_name_or_ip:port for splunk-url');
  }
  if (token === undefined) {
    throw invalidArgument('splunk: splunk-token is expected');
  }
  url.pathname = COLLECTOR;
  const flag = (key: string, without: boolean): boolean =>
    options[key] === undefined ? without : parseBool(options[key]);
  return {
    url,
    token,
    format: format(options['splunk-format']),
    verifies: flag('splunk-verify-connection', true),
    gzipLevel: flag('splunk-gzip', false) ? gzipLevel(options['splunk-gzip-level']) : null,
    skipsVerify: flag('splunk-insecureskipverify', false),
    acknowledges: flag('splunk-index-acknowledgment', false),
  };
}

function format(text = 'inline'): Splunk['format'] {
  if (text !== 'inline' && text !== 'json' && text !== 'raw') {
    throw invalidArgument(`Unknown format specified ${text}, supported formats are inline, json and raw`);
  }
  return text;
}

function gzipLevel(text = '-1'): number {
  const level = parseInteger(text);
  if (level < -1 || level > 9) {
    throw invalidArgument(
      `not supported level '${text}' for splunk-gzip-level (supported values between -1 and 9)`,
    );
  }
  return level;
}

/** Messages to Splunk's HTTP Event Collector. */
export function openSplunk(container: LoggedContainer, options: LogOptions): SinkTerms {
  const settings = parseSplunk(options);
  return terms(new SplunkSink(settings, options, encoder(settings, container, options)), {
    messageBytesMax: MESSAGE_BYTES_MAX,
    lingerMs: LINGER_MS,
  });
}

type Encode = (message: LogMessage) => string;

function encoder({ format: kind }: Splunk, container: LoggedContainer, options: LogOptions): Encode {
  // An empty tag leaves it out.
  const tag = options['tag'] === '' ? '' : renderTag(options['tag'] ?? DEFAULT_TAG, container);
  const attrs = extraAttributes(container, options);
  const shared = {
    host: hostname(),
    ...chosen('source', options['splunk-source']),
    ...chosen('sourcetype', options['splunk-sourcetype']),
    ...chosen('index', options['splunk-index']),
  };
  const prefix = [tag, ...Object.entries(attrs).map(([key, value]) => `${key}=${value}`)]
    .filter((part) => part !== '')
    .map((part) => `${part} `)
    .join('');
  const about = { ...(tag !== '' && { tag }), ...(Object.keys(attrs).length > 0 && { attrs }) };
  const event = ({ line, stream }: LogMessage): unknown => {
    const text = line.toString();
    return kind === 'raw'
      ? prefix + text
      : { line: kind === 'json' ? parsed(text) : text, source: stream, ...about };
  };
  return (message) => {
    // The collector refuses events without content, and the request that holds one.
    if (kind === 'raw' && message.line.toString().trim() === '') {
      return '';
    }
    const time = `${message.nano / 1_000_000_000n}.${String(message.nano % 1_000_000_000n)
      .padStart(9, '0')
      .slice(0, 6)}`;
    return JSON.stringify({ event: event(message), time, ...shared });
  };
}

function chosen(key: string, value: string | undefined): Record<string, string> {
  return value ? { [key]: value } : {};
}

/** A line that is JSON goes as what it says. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Any other text goes as text.
    return text;
  }
}

class SplunkSink implements LogSink {
  readonly #settings: Splunk;
  readonly #encode: Encode;
  readonly #headers: Record<string, string>;
  readonly #tls: Record<string, unknown>;

  constructor(settings: Splunk, options: LogOptions, encode: Encode) {
    this.#settings = settings;
    this.#encode = encode;
    this.#headers = {
      Authorization: `Splunk ${settings.token}`,
      ...(settings.acknowledges && { 'X-Splunk-Request-Channel': randomUUID() }),
    };
    const ca = options['splunk-capath'];
    this.#tls = {
      rejectUnauthorized: !settings.skipsVerify,
      ...(ca && { ca: readOptionFile('splunk-capath', ca) }),
      ...(options['splunk-caname'] && { servername: options['splunk-caname'] }),
    };
  }

  async connect(): Promise<void> {
    if (this.#settings.verifies) {
      const { url } = this.#settings;
      const { status, text } = await callHttp(url, { method: 'OPTIONS', tls: this.#tls });
      if (status !== 200) {
        throw new Error(`splunk: failed to verify connection - ${status} - ${text}`);
      }
    }
  }

  async send(messages: readonly LogMessage[]): Promise<void> {
    for (let first = 0; first < messages.length; first += REQUEST_MESSAGES) {
      const text = messages
        .slice(first, first + REQUEST_MESSAGES)
        .map((message) => this.#encode(message))
        .join('');
      if (text !== '') {
        await this.#post(Buffer.from(text));
      }
    }
  }

  close(): void {
    // Connections are the agent's, and close when idle.
  }

  async #post(plain: Buffer): Promise<void> {
    const { url, gzipLevel: level } = this.#settings;
    const { status, text } = await callHttp(url, {
      method: 'POST',
      headers: { ...this.#headers, ...(level !== null && { 'Content-Encoding': 'gzip' }) },
      body: level === null ? plain : gzipSync(plain, { level }),
      tls: this.#tls,
    });
    if (status === 200) {
      return;
    }
    const message = `splunk: failed to send event - ${status} - ${text}`;
    throw status === 400 ? new RejectedError(message) : new Error(message);
  }
}
