import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { parseBool, parseInteger, parseSize } from '../../daemon/base/go/values.ts';

/** Options of a log driver, as a client gave them. */
export type LogOptions = Readonly<Record<string, string>>;

/** Options that every driver takes. */
const COMMON = new Set([
  'mode',
  'max-buffer-size',
  'cache-disabled',
  'cache-max-size',
  'cache-max-file',
  'cache-compress',
]);

/** What a full receiver does to a container: it waits (its output is kept on disk), or loses the oldest lines. */
export interface DeliveryMode {
  /** Bytes kept for a receiver that does not take them; null = all (`blocking`). */
  bufferBytesMax: number | null;
}

const BUFFER_DEFAULT = '1m';

/** Reads `mode` and `max-buffer-size`. Throws invalid_argument with dockerd's texts. Pure. */
export function deliveryMode(options: LogOptions): DeliveryMode {
  const mode = options['mode'] ?? '';
  if (!['', 'blocking', 'non-blocking'].includes(mode)) {
    throw invalidArgument(`logger: logging mode not supported: ${mode}`);
  }
  const size = options['max-buffer-size'];
  if (size !== undefined && mode !== 'non-blocking') {
    throw invalidArgument("logger: max-buffer-size option is only supported with 'mode=non-blocking'");
  }
  if (mode !== 'non-blocking') {
    return { bufferBytesMax: null };
  }
  try {
    return { bufferBytesMax: parseSize(size ?? BUFFER_DEFAULT, 1024) };
  } catch (error) {
    throw invalidArgument(`error parsing option max-buffer-size: ${errorText(error)}`);
  }
}

/** Checks the options that every driver takes, and that the others are among `own`. Pure. */
export function checkOptions(driver: string, options: LogOptions, own: ReadonlySet<string>): void {
  deliveryMode(options);
  checkCache(options);
  for (const key of Object.keys(options)) {
    if (!COMMON.has(key) && !own.has(key)) {
      throw invalidArgument(`unknown log opt '${key}' for ${driver} log driver`);
    }
  }
}

/** What is kept on this host of a log that is sent elsewhere: read by `logs` where the driver can be read. */
function checkCache(options: LogOptions): void {
  const check = (key: string, read: (text: string) => unknown): void => {
    const text = options[key];
    if (text === undefined) {
      return;
    }
    try {
      read(text);
    } catch (error) {
      throw invalidArgument(`invalid value for ${key}: ${text}: ${errorText(error)}`);
    }
  };
  check('cache-disabled', parseBool);
  check('cache-compress', parseBool);
  check('cache-max-size', (text) => parseSize(text, 1000));
  check('cache-max-file', parseInteger);
}
