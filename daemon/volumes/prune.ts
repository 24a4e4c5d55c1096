import type { Filters } from '../../api/types/requests.ts';
import type { VolumeRow } from '../../storage/database/rows.ts';
import { invalidArgument } from '../base/errors.ts';
import { filterBool, hasLabel } from '../base/filters.ts';

/** Tells clients (and prune) which volumes got a generated name; moby's label. */
export const ANONYMOUS_LABEL = 'com.docker.volume.anonymous';

type Test = (volume: Pick<VolumeRow, 'labels'>) => boolean;

/**
 * Which unused volumes POST /volumes/prune removes: those with a generated name, with `all` every one; of them those
 * with the labels. Throws invalid_argument that names key and value. Pure.
 */
export function pruneTest(filters: Filters): Test {
  const tests: Test[] = [];
  let all = false;
  for (const [key, values] of filters) {
    switch (key) {
      case 'all':
        all = values.length > 0 && filterBool('all', values);
        break;
      case 'label':
        tests.push(({ labels }) => values.every((value) => hasLabel(labels, value)));
        break;
      case 'label!':
        tests.push(({ labels }) => !values.some((value) => hasLabel(labels, value)));
        break;
      default:
        throw invalidArgument(`invalid filter '${key}'`);
    }
  }
  return (volume) =>
    (all || Object.hasOwn(volume.labels, ANONYMOUS_LABEL)) && tests.every((passes) => passes(volume));
}
