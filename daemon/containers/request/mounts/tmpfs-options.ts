import type { MountRequest } from '../../../../api/types/host-config.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { wholeNumber } from '../refuse.ts';

/** Flags of mount(8) that exclude each other; the last one of a group wins. */
const flagGroups = [
  ['ro', 'rw'],
  ['suid', 'nosuid'],
  ['dev', 'nodev'],
  ['exec', 'noexec'],
  ['sync', 'async'],
  ['dirsync'],
  ['mand', 'nomand'],
  ['atime', 'noatime'],
  ['diratime', 'nodiratime'],
  ['relatime', 'norelatime'],
  ['strictatime', 'nostrictatime'],
  ['private', 'rprivate', 'shared', 'rshared', 'slave', 'rslave', 'unbindable', 'runbindable'],
];
/** What tmpfs(5) reads; anything else fails at the start, when it is too late to say which field it was. */
const valueOptions: ReadonlyMap<string, RegExp> = new Map([
  ['size', /^\d+(?:[kmgtpe]|%)?$/i],
  ['mode', /^[0-7]{1,4}$/],
  ['uid', /^\d{1,10}$/],
  ['gid', /^\d{1,10}$/],
  ['nr_inodes', /^\d+[kmgtpe]?$/i],
  ['nr_blocks', /^\d+[kmgtpe]?$/i],
  ['mpol', /^[a-z]+(?:=[a-z]+)?(?::[\d,-]+)?$/],
]);

/** What every tmpfs starts from: nothing in it can be run or be a device, unless asked for. */
const DEFAULTS = ['noexec', 'nosuid', 'nodev', 'rprivate'];

/**
 * Options of a tmpfs (`size=64m,mode=1777,exec`) on top of the defaults; of contradicting ones the last wins.
 * Throws invalid_argument for what tmpfs(5) does not know.
 */
export function tmpfsOptions(text: string): string[] {
  const merged = new Map<string, string>();
  for (const option of [...DEFAULTS, ...text.split(',')]) {
    if (option === '' || option === 'defaults') {
      continue;
    }
    const key = keyOf(option);
    // Deleted first, so that the later one also takes the later place.
    merged.delete(key);
    merged.set(key, option);
  }
  return [...merged.values()];
}

function keyOf(option: string): string {
  const group = flagGroups.find((flags) => flags.includes(option))?.[0];
  const [name = '', value] = option.split('=', 2);
  const form = valueOptions.get(name);
  if (group === undefined && (value === undefined || form === undefined)) {
    throw invalidArgument(`invalid tmpfs option ${JSON.stringify(name)}`);
  }
  if (group === undefined && form?.test(value ?? '') === false) {
    throw invalidArgument(`invalid tmpfs option ${JSON.stringify(option)}`);
  }
  return group ?? name;
}

/** The same text for a tmpfs of Mounts. `Mode` is a number: 0o1777 arrives as 1023. */
export function tmpfsTextOf(options: MountRequest['TmpfsOptions'], readOnly: boolean): string {
  const mode = wholeNumber('TmpfsOptions.Mode', options?.Mode);
  const sizeBytes = wholeNumber('TmpfsOptions.SizeBytes', options?.SizeBytes);
  if (mode < 0 || mode > 0o7777 || sizeBytes < 0) {
    throw invalidArgument(
      `invalid mount config for type "tmpfs": Mode must be a file mode and SizeBytes not negative: ` +
        `${mode.toString(8)}, ${sizeBytes}`,
    );
  }
  return [
    ...(readOnly ? ['ro'] : []),
    ...(mode === 0 ? [] : [`mode=${mode.toString(8)}`]),
    ...(sizeBytes === 0 ? [] : [`size=${sizeBytes}`]),
    ...(options?.Options ?? []).map((words) => optionText(words)),
  ].join(',');
}

/** `["exec"]` is a flag, `["uid", "1000"]` one with a value; a comma would begin another one. */
function optionText(words: readonly string[]): string {
  const text = words.join('=');
  if (words.length === 0 || words.length > 2 || words[0] === '' || text.includes(',')) {
    throw invalidArgument(
      `invalid mount config for type "tmpfs": TmpfsOptions.Options: ${JSON.stringify(words)}`,
    );
  }
  return text;
}
