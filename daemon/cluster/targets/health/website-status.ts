import { targetRecordId } from '../registrations/target.ts';
import type { Tables } from '../store/tables.ts';

/** The tag of a group whose targets are a website; its value is the URI, as notes have it. */
export const WEBSITE_TAG = 'website';

/**
 * What checks have found of websites: `up` while a target of a group with that tag is healthy, `down` when none is.
 * Undefined where no such group has been checked. The same on all managers, as it is told from the records.
 */
export function websiteStatus(tables: Tables, websites: readonly string[]): 'up' | 'down' | undefined {
  const wanted = new Set(websites.map(normal));
  const found = new Set<string>();
  for (const group of tables.groups.below()) {
    const website = group.tags[WEBSITE_TAG];
    const isChecked = group.config.healthCheck?.enabled === true;
    if (website === undefined || !isChecked || !wanted.has(normal(website))) {
      continue;
    }
    for (const target of tables.targets.below(`${group.id}/`)) {
      const health = target.drainingMs === undefined ? tables.health.get(targetRecordId(target)) : undefined;
      found.add(health?.status ?? '');
    }
  }
  if (found.has('HEALTHY')) {
    return 'up';
  }
  return found.has('UNHEALTHY') ? 'down' : undefined;
}

/** `https://Example.com` and `https://example.com/` are one. */
function normal(uri: string): string {
  return URL.canParse(uri) ? new URL(uri).href : uri;
}
