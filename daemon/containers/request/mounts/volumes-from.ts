import { invalidArgument } from '../../../base/errors.ts';
import { isMode, PROPAGATIONS } from './binds.ts';
import type { ResolvedMount } from './resolved-mount.ts';

/** One entry of VolumesFrom (`container[:mode]`), read. */
export interface VolumesFrom {
  /** Id, name or prefix of the container whose mounts are taken over. */
  ref: string;
  readOnly: boolean;
}

/** Throws invalid_argument with dockerd's text. Pure. */
export function parseVolumesFrom(text: string): VolumesFrom {
  if (text === '') {
    throw invalidArgument('volumes-from specification cannot be an empty string');
  }
  const [ref = '', ...rest] = text.split(':');
  const mode = rest.join(':');
  const words = mode.split(',');
  // What a mount propagates and whether it is filled was decided with the other container.
  if (!isMode(mode) || words.some((word) => word === 'nocopy' || PROPAGATIONS.includes(word))) {
    throw invalidArgument(`invalid VolumesFrom: invalid mode: ${mode}`);
  }
  if (ref === '') {
    throw invalidArgument(`invalid VolumesFrom: no container is named: ${text}`);
  }
  return { ref, readOnly: words.includes('ro') };
}

/**
 * The mounts of other containers, in the order of the entries; of two at one destination the later wins. `mountsOf`
 * answers those of a container, undefined when there is none. Throws invalid_argument. Pure but for the look-up.
 */
export function inheritedMounts(
  entries: readonly string[],
  mountsOf: (ref: string) => readonly ResolvedMount[] | undefined,
): ResolvedMount[] {
  const taken = new Map<string, ResolvedMount>();
  for (const text of entries) {
    const { ref, readOnly } = parseVolumesFrom(text);
    const mounts = mountsOf(ref);
    if (mounts === undefined) {
      // Not not_found: the docker CLI takes a 404 of create for a missing image and would pull it.
      throw invalidArgument(`No such container: ${ref} (VolumesFrom ${text})`);
    }
    for (const mount of mounts) {
      if (mount.type === 'volume' || mount.type === 'image' || mount.isHidden !== true) {
        taken.set(mount.destination, inherited(mount, readOnly));
      }
    }
  }
  return [...taken.values()];
}

function inherited(mount: ResolvedMount, readOnly: boolean): ResolvedMount {
  const rw = mount.rw && !readOnly;
  switch (mount.type) {
    case 'volume':
      // Filled by the container that it comes from, never from this one's image.
      return { ...mount, mode: '', rw, noCopy: true };
    case 'tmpfs':
      return {
        ...mount,
        rw,
        options: rw || mount.options.includes('ro') ? mount.options : [...mount.options, 'ro'],
      };
    case 'image':
      return mount;
    case 'bind':
    default:
      return { ...mount, mode: '', rw };
  }
}
