import { checkVolumeName } from '../../../../storage/volumes/volume-name.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { cleanPath, problemOfDestination } from '../container-path.ts';
import { abridged, problemOfLength } from '../refuse.ts';

/** One entry of Binds (`[source:]destination[:mode]`), read. */
export interface Bind {
  kind: 'bind' | 'volume';
  /** Host path of a bind, name of a volume; empty for an anonymous volume. */
  source: string;
  destination: string;
  /** As the client wrote it. */
  mode: string;
  readOnly: boolean;
  /** Empty when the mode names none. */
  propagation: string;
  noCopy: boolean;
}

export const PROPAGATIONS = ['private', 'rprivate', 'slave', 'rslave', 'shared', 'rshared'];

/** Words of a mode, by what they decide; a mode has at most one word of each kind. */
const modeWords: Record<string, readonly string[]> = {
  access: ['ro', 'rw'],
  label: ['z', 'Z'],
  copy: ['nocopy'],
  // Of file sharing into virtual machines; on Linux every mount is consistent.
  consistency: ['consistent', 'cached', 'delegated'],
  propagation: PROPAGATIONS,
};

/** Throws invalid_argument with dockerd's text. Pure. */
export function parseBind(text: string): Bind {
  const parts = text.split(':');
  const [first = '', second, mode = ''] = parts;
  const looksLikeMode = parts.length === 2 && second !== undefined && isMode(second);
  if (first === '' || parts.length > 3 || looksLikeMode) {
    throw invalidArgument(`invalid volume specification: '${text}'`);
  }
  if (!isMode(mode)) {
    throw invalidArgument(`invalid mode: ${mode}`);
  }
  const source = second === undefined ? '' : first;
  const kind = source.startsWith('/') ? 'bind' : 'volume';
  const words = mode.split(',');
  const propagation = words.find((word) => PROPAGATIONS.includes(word)) ?? '';
  const noCopy = words.includes('nocopy');
  const wrong =
    (kind === 'bind' && noCopy && 'field VolumeOptions must not be specified') ||
    (kind === 'volume' && propagation !== '' && 'field BindOptions must not be specified') ||
    problemOfLength(source) ||
    problemOfDestination(second ?? first);
  if (wrong) {
    throw invalidArgument(
      `invalid volume specification: '${abridged(text)}': invalid mount config for type "${kind}": ${wrong}`,
    );
  }
  if (kind === 'volume' && source !== '') {
    checkVolumeName(source);
  }
  return {
    kind,
    source: kind === 'bind' ? cleanPath(source) : source,
    destination: cleanPath(second ?? first),
    mode,
    readOnly: words.includes('ro'),
    propagation,
    noCopy,
  };
}

/** True for the empty mode and for words that exist, each kind once. */
export function isMode(mode: string): boolean {
  if (mode === '') {
    return true;
  }
  const kinds = mode
    .split(',')
    .map((word) => Object.keys(modeWords).find((kind) => modeWords[kind]?.includes(word)));
  return kinds.every((kind) => kind !== undefined) && new Set(kinds).size === kinds.length;
}
