import type { VolumeRow } from '../../storage/database/rows.ts';
import { invalidArgument } from '../base/errors.ts';
import { filterBool, hasLabel } from '../base/filters.ts';
import { textMatcher } from '../base/text-matcher.ts';

type Values = readonly string[];
type Test = (volume: VolumeRow, isUsed: boolean) => boolean;

const FILTERS: ReadonlyMap<string, (values: Values) => Test> = new Map<string, (values: Values) => Test>([
  [
    'name',
    (values) => {
      const matchers = values.map(textMatcher);
      return (volume) => matchers.some((matches) => matches(volume.name));
    },
  ],
  // Part of a name is enough, as the API document has it; dockerd compares the whole name.
  ['driver', (values) => (volume) => values.some((value) => volume.driver.includes(value))],
  ['label', (values) => (volume) => values.every((value) => hasLabel(volume.labels, value))],
  ['dangling', dangling],
]);

/** Makes one test of the `filters` parameter of `GET /volumes`. Throws invalid_argument that names key and value. */
export function volumeFilter(filters: ReadonlyMap<string, Values>): Test {
  const tests = [...filters]
    .filter(([, values]) => values.length > 0)
    .map(([key, values]) => {
      const filter = FILTERS.get(key);
      if (filter === undefined) {
        throw invalidArgument(`invalid filter '${key}'`);
      }
      return filter(values);
    });
  return (volume, isUsed) => tests.every((test) => test(volume, isUsed));
}

function dangling(values: Values): Test {
  const wanted = filterBool('dangling', values);
  return (_volume, isUsed) => isUsed !== wanted;
}
