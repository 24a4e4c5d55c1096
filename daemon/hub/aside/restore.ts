import { createHash } from 'node:crypto';
import type { App, Application } from '../identity/apps/app.ts';
import type { Account } from '../identity/account.ts';
import type { OAuthApplication } from '../oauth/applications/application.ts';
import type { Repository } from '../repositories/repository.ts';
import { conflict, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { Collection } from '../records/collection.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import { batches } from '../records/move/move-in.ts';
import type { MovedRecord } from '../records/move/local-set.ts';
import { kindOf, NUMBERED, renumbered, type Offsets } from './renumber.ts';

/** Records that are not in use on this host and may be again. */
export interface AsideSource {
  /** `host`, or the name of a file. */
  name: string;
  records(): MovedRecord[];
  /** They are in use now, elsewhere. */
  drop(): Promise<void>;
}

export interface AsideEntry {
  source: string;
  kind: 'user' | 'organization' | 'repository' | 'app' | 'oauth app' | 'oauth application';
  /** `alice`, `alice/app`, `acme: Shop`. */
  name: string;
}

export interface Restored {
  accounts: number;
  repositories: number;
  applications: number;
  /** Apps and OAuth apps of GitHub's kind. */
  apps: number;
  /** What does not come back, by kind. */
  left: Record<string, number>;
}

/** That records of a source are coming back. Records `restore/<SHA-256 of what is in the source>`. */
interface Plan {
  offsets: Offsets;
}

export function listAside(sources: readonly AsideSource[]): AsideEntry[] {
  return sources.flatMap((source) =>
    source.records().flatMap((record): AsideEntry[] => {
      const name = nameOf(record);
      return name === undefined ? [] : [{ source: source.name, ...name }];
    }),
  );
}

/**
 * Brings records of a source into those in use, with ids that follow theirs. May be ended anywhere, also by a kill, and
 * be called again. Throws not_found for a source that is not there, conflict with the names that are taken.
 */
export async function restoreAside(
  mirror: Mirror,
  sources: readonly AsideSource[],
  name: string,
): Promise<Restored> {
  const source = sources.find((one) => one.name === name);
  if (source === undefined) {
    throw notFound(`nothing is kept aside as ${JSON.stringify(name)}`);
  }
  const records = source.records();
  const plans = new Collection<Plan>(mirror, 'restore/');
  const id = createHash('sha256').update(JSON.stringify(records)).digest('hex');
  const { offsets } = await mirror.change(() => {
    const known = plans.get(id);
    return known === undefined
      ? begin(mirror, records, (plan) => plans.put(id, plan))
      : { changes: [], answer: known };
  });
  failpoint('hub.restore.planned');
  const { records: back, left } = renumbered(records, offsets);
  for (const some of batches(back)) {
    const changes = some.map(({ key, value }) => ({ kind: 'put' as const, key, value }));
    await mirror.change(() => ({ changes, answer: undefined }));
    failpoint('hub.restore.copied');
  }
  await source.drop();
  failpoint('hub.restore.dropped');
  await mirror.change(() => ({ changes: [plans.delete(id)], answer: undefined }));
  const countOf = (kind: string): number => back.filter((record) => kindOf(record) === kind).length;
  return {
    accounts: countOf('account'),
    repositories: countOf('repository'),
    applications: countOf('oauth-application'),
    apps: countOf('app') + countOf('oauth-app'),
    left,
  };
}

/** The ids are taken, and the names of accounts: nobody else gets them from here on. */
function begin(mirror: Mirror, records: readonly MovedRecord[], planned: (plan: Plan) => RecordChange) {
  const counters = new Collection<{ last: number }>(mirror, 'counter/');
  const lastOf = (kind: string): number => {
    const found = records.find(({ key }) => key === `counter/${kind}`);
    // Counters alone write them.
    return (found?.value as { last: number } | undefined)?.last ?? 0;
  };
  const nowOf = (kind: string): number => counters.get(kind)?.last ?? 0;
  const offsets: Offsets = {
    account: nowOf('account'),
    repository: nowOf('repository'),
    hook: nowOf('hook'),
    token: nowOf('token'),
    note: nowOf('note'),
    app: nowOf('app'),
    'oauth-app': nowOf('oauth-app'),
    installation: nowOf('installation'),
  };
  const named = (kind: string) =>
    renumbered(
      records.filter((record) => kindOf(record) === kind),
      offsets,
    ).records;
  const [accounts, apps] = [named('account'), named('app')];
  refuseSlugs(mirror, apps);
  const taken = accounts.filter(({ key }) => mirror.get(key) !== undefined);
  if (taken.length > 0) {
    const names = taken.map(({ key }) => key.slice('account/'.length));
    const said = names.slice(0, limits.hubNamesSaid).join(', ');
    const more = names.length > limits.hubNamesSaid ? ` and ${names.length - limits.hubNamesSaid} more` : '';
    throw conflict(`the hub has accounts of these names already: ${said}${more}`);
  }
  const plan = { offsets };
  return {
    changes: [
      planned(plan),
      ...NUMBERED.flatMap((kind) => {
        const last = lastOf(kind);
        return last === 0 ? [] : [counters.put(kind, { last: offsets[kind] + last })];
      }),
      ...[...accounts, ...apps]
        .slice(0, limits.hubRestoredAtOnce)
        .map(({ key, value }) => ({ kind: 'put' as const, key, value, expected: 0 })),
    ],
    answer: plan,
  };
}

/** An app's name in addresses is one of a kind. */
function refuseSlugs(mirror: Mirror, apps: readonly MovedRecord[]): void {
  const there = new Set(new Collection<App>(mirror, 'app/').all().map(({ slug }) => slug));
  // As of accounts.
  const taken = apps.map(({ value }) => (value as App).slug).filter((slug) => there.has(slug));
  if (taken.length > 0) {
    throw conflict(
      `the hub has apps of these names already: ${taken.slice(0, limits.hubNamesSaid).join(', ')}`,
    );
  }
}

/** Of what people know by its name. */
function nameOf({ key, value }: MovedRecord): Pick<AsideEntry, 'kind' | 'name'> | undefined {
  switch (kindOf({ key, value })) {
    case 'account': {
      // All values below a prefix are written by one class.
      const { kind, name } = value as Account;
      return { kind, name };
    }
    case 'repository': {
      // As of accounts.
      const { owner, name } = value as Repository;
      return { kind: 'repository', name: `${owner.name}/${name}` };
    }
    case 'app':
    case 'oauth-app': {
      // As of accounts.
      const { kind, owner, name } = value as Application;
      return { kind: kind === 'app' ? 'app' : 'oauth app', name: `${owner.name}: ${name}` };
    }
    case 'oauth-application': {
      // As of accounts.
      const { organization, name } = value as OAuthApplication;
      return { kind: 'oauth application', name: `${organization.name}: ${name}` };
    }
    default:
      return undefined;
  }
}
