import type { Filters } from '../../api/types/requests.ts';
import { invalidArgument } from '../base/errors.ts';
import { filterBool, hasLabel } from '../base/filters.ts';
import { textMatcher } from '../base/text-matcher.ts';
import type { NetworkInspect } from '../../api/types/system.ts';

/** Filters of GET /networks. Pure. */
type Match = (network: FilteredNetwork, value: string) => boolean;

/** What filters look at. */
export interface FilteredNetwork extends Pick<NetworkInspect, 'Name' | 'Id' | 'Driver' | 'Scope' | 'Labels'> {
  isBuiltIn: boolean;
  /** User-defined, and without endpoints. */
  isDangling: boolean;
}

const FILTERS: Readonly<Record<string, Match>> = {
  driver: (network, value) => network.Driver === value,
  id: (network, value) => textMatcher(value)(network.Id),
  label: (network, value) => hasLabel(network.Labels, value),
  name: (network, value) => textMatcher(value)(network.Name),
  type: (network, value) => network.isBuiltIn === (value === 'builtin'),
  scope: (network, value) => network.Scope === value,
  dangling: (network, value) => network.isDangling === filterBool('dangling', [value]),
};

/** True when `network` passes all filters. Throws invalid_argument for unknown keys and values. */
export function matchesFilters(network: FilteredNetwork, filters: Filters): boolean {
  return [...filters].every(([key, values]) => {
    // Own keys only: `toString` is no filter.
    const match = Object.hasOwn(FILTERS, key) ? FILTERS[key] : undefined;
    if (match === undefined) {
      throw invalidArgument(`invalid filter '${key}'`);
    }
    checkValues(key, values);
    // Labels must all be there; of any other key one of the values is enough.
    return key === 'label'
      ? values.every((value) => match(network, value))
      : values.some((value) => match(network, value));
  });
}

function checkValues(key: string, values: readonly string[]): void {
  if (key === 'type') {
    const bad = values.find((value) => value !== 'builtin' && value !== 'custom');
    if (bad !== undefined) {
      throw invalidArgument(`invalid filter: 'type'='${bad}'`);
    }
  }
  if (key === 'dangling') {
    filterBool(key, values);
  }
}
