import type { Ulimit } from '../../../../api/types/host-config.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { wholeNumber } from '../refuse.ts';

/** Limits of setrlimit(2) that a container can be given. `as` is left out as in dockerd: it breaks its own start. */
const NAMES = new Set([
  'core',
  'cpu',
  'data',
  'fsize',
  'locks',
  'memlock',
  'msgqueue',
  'nice',
  'nofile',
  'nproc',
  'rss',
  'rtprio',
  'rttime',
  'sigpending',
  'stack',
]);

const UNLIMITED = -1;

/** Throws invalid_argument with dockerd's texts. -1 = unlimited. */
export function checkUlimits(ulimits: readonly Ulimit[]): Ulimit[] {
  return ulimits.map(({ Name = '', Soft, Hard }: Partial<Ulimit>) => {
    if (!NAMES.has(Name)) {
      throw invalidArgument(`invalid ulimit type: ${Name || 'no Name is given'}`);
    }
    const [soft, hard] = [
      wholeNumber(`Ulimits.${Name}.Soft`, Soft),
      wholeNumber(`Ulimits.${Name}.Hard`, Hard),
    ];
    if (soft < UNLIMITED || hard < UNLIMITED) {
      throw invalidArgument(`invalid ulimit ${Name}: limits cannot be negative: ${soft}:${hard}`);
    }
    if (hard !== UNLIMITED && (soft === UNLIMITED || soft > hard)) {
      throw invalidArgument(
        'ulimit soft limit must be less than or equal to hard limit: ' +
          (soft === UNLIMITED ? `soft: -1 (unlimited), hard: ${hard}` : `${soft} > ${hard}`),
      );
    }
    return { Name, Soft: soft, Hard: hard };
  });
}
