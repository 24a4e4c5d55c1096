import { describe, expect, test } from 'vitest';
import type { VersionChange } from '../../../../api/versions/change.ts';
import { CHANGES } from '../../../../api/versions/changes/index.ts';
import { isObject } from '../../../../api/versions/json.ts';
import { Dialects } from '../../../../api/versions/dialect.ts';
import { NEWEST, OLDEST } from '../../../../api/versions/version.ts';
import { ROUTES } from '../../../../api/routes/index.ts';
import { FIXTURES as FIXTURES_OF_ENGINE } from './fixtures.ts';
import type { Fixture } from './fixtures.ts';
import { FIXTURES_OF_TODAY } from './fixtures-today.ts';
import { SWARM_FIXTURES } from './swarm-fixtures.ts';

const FIXTURES: Readonly<Record<string, readonly Fixture[]>> = {
  ...FIXTURES_OF_ENGINE,
  ...FIXTURES_OF_TODAY,
  ...SWARM_FIXTURES,
};

const facts = { cgroupVersion: 1 } as const;

describe.each(CHANGES.map((change) => [`1.${change.since} ${change.id}`, change] as const))(
  '%s',
  (_, change) => {
    const fixtures = FIXTURES[change.id] ?? [];

    test('has a fixture for each of its parts', () => {
      const parts = (['request', 'response', 'item'] as const).filter((part) => change[part] !== undefined);
      expect([...new Set(fixtures.map(({ kind }) => kind))]).toEqual(parts);
    });

    test.each(fixtures)('translates $kind %#', (fixture) => {
      check(change, fixture);
    });

    test('leaves nonsense to the schema', () => {
      for (const nonsense of [
        undefined,
        null,
        1,
        'text',
        [],
        [null],
        {},
        { HostConfig: 1 },
        { HostConfig: null },
        { TaskTemplate: 1, Spec: [1, null], CAConfig: 'a', Networks: 1, Mode: [] },
        { TaskTemplate: { ContainerSpec: [], Resources: { Limits: 1 } }, Spec: { TaskTemplate: null } },
      ]) {
        change.request?.({ query: new URLSearchParams(), body: structuredClone(nonsense) }, facts);
        change.response?.(nonsense, nonsense);
        change.item?.(nonsense);
      }
    });
  },
);

function check(change: VersionChange, fixture: Fixture): void {
  if (fixture.kind === 'request') {
    const request = {
      query: new URLSearchParams(fixture.older.query),
      body: structuredClone(fixture.older.body),
    };
    const lift = (): void => change.request?.(request, { cgroupVersion: fixture.cgroupVersion ?? 1 });
    if ('refused' in fixture.newest) {
      expect(lift).toThrow(fixture.newest.refused);
      return;
    }
    lift();
    expect({ query: request.query.toString(), body: request.body }).toEqual({
      query: new URLSearchParams(fixture.newest.query).toString(),
      body: fixture.newest.body,
    });
    return;
  }
  const before = structuredClone(fixture.newest);
  const older =
    fixture.kind === 'item'
      ? change.item?.(fixture.newest)
      : change.response?.(fixture.newest, fixture.legacy);
  if (fixture.older === undefined) {
    expect(older).toBeUndefined();
  } else {
    expect(partsOf(older, fixture.older)).toEqual(fixture.older);
  }
  // The engine may still hold what it handed over.
  expect(fixture.newest).toEqual(before);
}

/** What `value` has of the fields that `wanted` names, at any depth. A field that is not there is undefined. */
function partsOf(value: unknown, wanted: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(wanted)) {
    return value.map((item: unknown, index) => partsOf(item, wanted[index]));
  }
  if (!isObject(value) || !isObject(wanted)) {
    return value;
  }
  return Object.fromEntries(Object.keys(wanted).map((key) => [key, partsOf(value[key], wanted[key])]));
}

test('version changes: no id twice, no fixture without a change, every route exists', () => {
  const ids = CHANGES.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(Object.keys(FIXTURES).filter((id) => !ids.includes(id))).toEqual([]);
  const routes = new Set(ROUTES.map(({ id }) => id));
  expect(CHANGES.flatMap((change) => change.routes).filter((id) => !routes.has(id))).toEqual([]);
});

test('Dialects: a request and an answer at the newest version are untouched', () => {
  const dialects = new Dialects(CHANGES, facts);
  const body = { HostConfig: { Mounts: [{ Type: 'bind' }] } };
  for (const { id } of ROUTES) {
    const dialect = dialects.of(NEWEST, id);
    const request = { query: new URLSearchParams('filter=a&signal=b'), body: structuredClone(body) };
    dialect.upgrade(request);
    expect({ query: request.query.toString(), body: request.body }).toEqual({
      query: 'filter=a&signal=b',
      body,
    });
    expect(dialect.downgrade(body)).toBe(body);
    expect(dialect.downgradeItem).toBeUndefined();
  }
});

test('Dialects: quirks are spoken from their version on', () => {
  const dialects = new Dialects(CHANGES, facts);
  const spoken = [OLDEST, 29, 30, 41, 42].map((version) =>
    (['wait-sends-headers-at-once', 'multiplexed-content-type'] as const).filter((quirk) =>
      dialects.of(version, 'container.wait').speaks(quirk),
    ),
  );
  expect(spoken).toEqual([
    [],
    [],
    ['wait-sends-headers-at-once'],
    ['wait-sends-headers-at-once'],
    ['wait-sends-headers-at-once', 'multiplexed-content-type'],
  ]);
});

test('Dialects: refuses changes out of order', () => {
  expect(() => new Dialects(CHANGES.toReversed(), facts)).toThrow(/out of order/);
});
