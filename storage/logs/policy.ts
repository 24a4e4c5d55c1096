import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { parseBool, parseInteger, parseSize } from '../../daemon/base/go/values.ts';

/** When a log is rotated and what is kept of it. */
export interface RotationPolicy {
  /** The current file is put aside once it has this many bytes; null = never. */
  fileBytesMax: number | null;
  /** Files kept, the current one included. */
  filesMax: number;
  compress: boolean;
  /** Bytes that may wait in the current file when the receiver takes none; left out where that is no spool. */
  spoolBytesMax?: number;
}

/** What `json-file` keeps without options: dockerd keeps everything, until the disk is full. */
export const JSON_FILE_DEFAULTS: Readonly<Record<string, string>> = { 'max-size': '20m', 'max-file': '5' };
/** What `local` keeps without options, as in dockerd. */
const LOCAL_DEFAULTS: Readonly<Record<string, string>> = {
  'max-size': '20m',
  'max-file': '5',
  compress: 'true',
};

/**
 * Options of `json-file` with those of its defaults that are in force: both, unless the size is given, which alone
 * means one file, as in dockerd. Pure.
 */
export function withFileDefaults(options: Readonly<Record<string, string>>): Record<string, string> {
  if (options['max-size'] !== undefined) {
    return { ...options };
  }
  return { ...JSON_FILE_DEFAULTS, ...options };
}

/** Reads the options of `json-file`, defaults filled in. Throws invalid_argument with dockerd's texts. Pure. */
export function jsonFilePolicy(options: Readonly<Record<string, string>>): RotationPolicy {
  const fileBytesMax = maxSize(options['max-size']);
  const filesMax = options['max-file'] === undefined ? 1 : parseInteger(options['max-file']);
  if (filesMax < 1) {
    throw invalidArgument('max-file cannot be less than 1');
  }
  const compress = options['compress'] !== undefined && parseBool(options['compress']);
  if (compress && (filesMax === 1 || fileBytesMax === null)) {
    throw invalidArgument('compress cannot be true when max-file is less than 2 or max-size is not set');
  }
  return { fileBytesMax, filesMax, compress };
}

function maxSize(text: string | undefined): number | null {
  if (text === undefined || text === '-1') {
    return null;
  }
  const bytes = parseSize(text, 1000);
  if (bytes <= 0) {
    throw invalidArgument('max-size must be a positive number');
  }
  return bytes;
}

/** Reads the options of `local`. Throws invalid_argument with dockerd's texts. Pure. */
export function localPolicy(asked: Readonly<Record<string, string>>): RotationPolicy {
  const options = { ...LOCAL_DEFAULTS, ...asked };
  const value = <T>(key: string, read: (text: string) => T): T => {
    const text = options[key] ?? '';
    try {
      return read(text);
    } catch (error) {
      throw invalidArgument(`invalid value for ${key}: ${text}: ${errorText(error)}`);
    }
  };
  const bytes = value('max-size', (text) => parseSize(text, 1000));
  const filesMax = value('max-file', parseInteger);
  const compress = value('compress', parseBool);
  if (filesMax < 0) {
    throw invalidArgument('max-file must not be negative');
  }
  if (compress && filesMax <= 1) {
    throw invalidArgument('compression cannot be enabled when max file count is 1');
  }
  return { fileBytesMax: bytes === 0 ? null : bytes, filesMax: Math.max(1, filesMax), compress };
}

/**
 * Bytes at which the current file is put aside. One file is kept as two halves: cut off at once, as dockerd does it, a
 * log would be empty right after each rotation, and a follower would lose lines.
 */
export function rotateAtBytes({ fileBytesMax, filesMax }: RotationPolicy): number {
  if (fileBytesMax === null) {
    return Number.POSITIVE_INFINITY;
  }
  return filesMax === 1 ? Math.ceil(fileBytesMax / 2) : fileBytesMax;
}

/**
 * Bytes of the current file at which the kernel refuses more, until it is rotated: no daemon runs, or it was outrun.
 * As much as all files together may have, and far enough from `rotateAtBytes` for a rotation to be in time. null =
 * never. Pure.
 */
export function stopAtBytes(policy: RotationPolicy): number | null {
  if (policy.fileBytesMax === null) {
    return null;
  }
  const files = Math.max(limits.logOverrunMax, policy.filesMax);
  const bytes = Math.max(files * rotateAtBytes(policy), limits.logStopBytesMin);
  return policy.spoolBytesMax ?? Math.min(bytes, Number.MAX_SAFE_INTEGER);
}
