import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { serveCluster, type ServedCluster } from '../../support/cluster/serve-cluster.ts';
import { watchEvents } from '../../support/cluster/watch-client.ts';

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const ALL = '/apis/events.k8s.io/v1/events';

let cluster: ServedCluster;
beforeAll(async () => {
  cluster = await serveCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const patch = (name: string, type: string, body: unknown, query = '') =>
  cluster.ask('PATCH', `${EVENTS}/${name}${query}`, {
    body,
    headers: { 'Content-Type': `application/${type}` },
  });

const ownedBy = (app: string) =>
  JSON.stringify({ ...anEvent('owned'), metadata: { name: 'owned', labels: { app } } });

const put = (body: object) => cluster.ask('PUT', `${EVENTS}/put`, { body });

const names = (body: unknown): string[] =>
  Object(body).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

const types = (frames: readonly { type: string }[]) => frames.map(({ type }) => type);

describe('who may what', () => {
  test.each([
    ['nothing shown', '', 'GET', 401, 'Unauthorized'],
    ['a token that nobody has', 'wrong', 'GET', 401, 'Unauthorized'],
    ['a reader looks', 'reader', 'GET', 200, undefined],
    ['a reader writes', 'reader', 'POST', 403, 'Forbidden'],
  ])('events: %s', async (_case, token, method, status, reason) => {
    const answer = await cluster.ask(method, EVENTS, {
      token,
      ...(method === 'POST' && { body: anEvent('forbidden') }),
    });
    expect([answer.status, Object(answer.body)['reason']]).toEqual([status, reason]);
  });
});

describe('a new event', () => {
  test('events: created, read and listed with what the server gives it', async () => {
    const made = await cluster.ask('POST', EVENTS, { body: anEvent('made') });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...anEvent('made'),
      metadata: {
        name: 'made',
        namespace: 'default',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    expect((await cluster.ask('GET', `${EVENTS}/made`)).body).toEqual(made.body);
    expect(await cluster.ask('POST', EVENTS, { body: anEvent('made') })).toMatchObject({
      status: 409,
      body: { kind: 'Status', reason: 'AlreadyExists', details: { name: 'made', kind: 'events' } },
    });
  });

  test('events: generateName gives five characters that make no words', async () => {
    const { name: _, ...metadata } = { ...anEvent('x').metadata, generateName: 'made-' };
    const { body } = await cluster.ask('POST', EVENTS, { body: anEvent('', { metadata }) });
    expect(Object(body).metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test('events: a dry run answers and keeps nothing', async () => {
    expect((await cluster.ask('POST', `${EVENTS}?dryRun=All`, { body: anEvent('dry') })).status).toBe(201);
    expect((await cluster.ask('GET', `${EVENTS}/dry`)).status).toBe(404);
  });

  test.each([
    ['no action', { action: '' }, 'action', 'FieldValueRequired'],
    ['no reason', { reason: '' }, 'reason', 'FieldValueRequired'],
    ['no time', { eventTime: null }, 'eventTime', 'FieldValueRequired'],
    ['another type', { type: 'Bad' }, 'type', 'FieldValueInvalid'],
    ['no controller', { reportingController: '' }, 'reportingController', 'FieldValueRequired'],
    [
      'a controller that is no name',
      { reportingController: 'a b' },
      'reportingController',
      'FieldValueInvalid',
    ],
    ['no instance', { reportingInstance: '' }, 'reportingInstance', 'FieldValueRequired'],
    ['an instance of 129', { reportingInstance: 'i'.repeat(129) }, 'reportingInstance', 'FieldValueInvalid'],
    ['an action of 129', { action: 'a'.repeat(129) }, 'action', 'FieldValueInvalid'],
    ['a reason of 65 letters in two bytes', { reason: 'ä'.repeat(65) }, 'reason', 'FieldValueInvalid'],
    ['a note of 1025', { note: 'n'.repeat(1025) }, 'message', 'FieldValueInvalid'],
    ['an old count', { deprecatedCount: 1 }, 'count', 'FieldValueInvalid'],
    ['an old source', { deprecatedSource: { component: 'x' } }, 'source', 'FieldValueInvalid'],
    [
      'an old first time',
      { deprecatedFirstTimestamp: '2026-01-01T00:00:00Z' },
      'firstTimestamp',
      'FieldValueInvalid',
    ],
    [
      'an old last time',
      { deprecatedLastTimestamp: '2026-01-01T00:00:00Z' },
      'lastTimestamp',
      'FieldValueInvalid',
    ],
    [
      'a series of one',
      { series: { count: 1, lastObservedTime: '2026-01-01T00:00:00Z' } },
      'series.count',
      'FieldValueInvalid',
    ],
    ['a name in capitals', { metadata: { name: 'Web' } }, 'metadata.name', 'FieldValueInvalid'],
    ['no name', { metadata: {} }, 'metadata.name', 'FieldValueRequired'],
    [
      'a label that is none',
      { metadata: { name: 'web', labels: { 'a b': 'c' } } },
      'metadata.labels',
      'FieldValueInvalid',
    ],
  ] as const)('events: %s is refused by name', async (_case, more, field, reason) => {
    const { status, body } = await cluster.ask('POST', EVENTS, { body: anEvent('bad', more) });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { kind: 'Status', reason: 'Invalid', code: 422, details: { kind: 'Event' } },
    });
    expect(Object(body).details.causes).toContainEqual({ reason, field, message: expect.any(String) });
  });

  test('events: about what has no namespace only in default and kube-system', async () => {
    const body = anEvent('node', { regarding: { kind: 'Node', name: 'n' } });
    const ask = async (namespace: string) =>
      (await cluster.ask('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, { body })).status;
    expect([await ask('default'), await ask('kube-system'), await ask('shop')]).toEqual([201, 201, 422]);
  });

  test('events: fields that are unknown or there twice are refused, told or left', async () => {
    const text = JSON.stringify({ ...anEvent('strict'), colour: 'red' }).replace(
      '"action"',
      '"note":"once","action"',
    );
    const ask = (how: string) =>
      cluster.ask('POST', `${EVENTS}?dryRun=All&fieldValidation=${how}`, { body: text });
    expect(await ask('Strict')).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/duplicate field "note", unknown field "colour"/) },
    });
    expect((await ask('Warn')).headers['warning']).toBe(
      '299 - "duplicate field \\"note\\"", 299 - "unknown field \\"colour\\""',
    );
    expect((await ask('Ignore')).headers['warning']).toBeUndefined();
    expect((await ask('Never')).status).toBe(400);
  });

  test.each([
    ['no JSON', '{', {}, 400],
    ['a number for a text', JSON.stringify({ ...anEvent('x'), reason: 1 }), {}, 400],
    [
      'another namespace',
      JSON.stringify(anEvent('x', { metadata: { name: 'x', namespace: 'shop' } })),
      {},
      400,
    ],
    ['another kind', JSON.stringify({ ...anEvent('x'), kind: 'Pod' }), {}, 400],
    ['protobuf', 'k8s', { 'Content-Type': 'application/vnd.kubernetes.protobuf' }, 415],
    [
      'an answer in protobuf',
      JSON.stringify(anEvent('x')),
      { Accept: 'application/vnd.kubernetes.protobuf' },
      406,
    ],
  ])('events: %s is refused', async (_case, body, headers, status) => {
    expect((await cluster.ask('POST', `${EVENTS}?dryRun=All`, { body, headers })).status).toBe(status);
  });
});

describe('a change', () => {
  test('events: every kind of patch changes what may change', async () => {
    await cluster.ask('POST', EVENTS, { body: anEvent('patched') });
    const series = { count: 2, lastObservedTime: '2026-11-25T11:00:00.000000Z' };
    await patch('patched', 'json-patch+json', [
      { op: 'add', path: '/series', value: series },
      { op: 'test', path: '/reason', value: 'Started' },
    ]);
    await patch('patched', 'merge-patch+json', { metadata: { labels: { app: 'web', gone: 'x' } } });
    await patch('patched', 'strategic-merge-patch+json', {
      metadata: { labels: { gone: null }, finalizers: ['a.b/c'] },
    });
    const { body } = await patch(
      'patched',
      'apply-patch+yaml',
      'apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {annotations: {by: yaml}}\n',
      '?fieldManager=me',
    );
    expect(body).toMatchObject({
      series,
      metadata: { labels: { app: 'web' }, finalizers: ['a.b/c'], annotations: { by: 'yaml' } },
    });
    expect(await patch('patched', 'merge-patch+json', { reason: 'Other' })).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'reason', message: expect.stringMatching(/immutable/) }] } },
    });
    expect((await patch('nothing', 'merge-patch+json', {})).status).toBe(404);
    expect((await patch('patched', 'x-patch', {})).status).toBe(415);
    expect((await patch('patched', 'merge-patch+json', {}, '?force=true')).status).toBe(422);
  });

  test('events: what another manager has applied is a conflict, until it is forced', async () => {
    expect((await patch('owned', 'apply-patch+yaml', ownedBy('a'), '?fieldManager=one')).status).toBe(201);
    expect(await patch('owned', 'apply-patch+yaml', ownedBy('b'), '?fieldManager=two')).toMatchObject({
      status: 409,
      body: {
        details: {
          causes: [
            {
              reason: 'FieldManagerConflict',
              field: '.metadata.labels.app',
              message: 'conflict with "one" using events.k8s.io/v1',
            },
          ],
        },
      },
    });
    expect(
      await patch('owned', 'apply-patch+yaml', ownedBy('b'), '?fieldManager=two&force=true'),
    ).toMatchObject({
      status: 200,
      body: { metadata: { labels: { app: 'b' } } },
    });
    expect((await patch('owned', 'apply-patch+yaml', ownedBy('b'))).status).toBe(422);
  });

  test('events: replaced at the version that was read only, made where there is none', async () => {
    const { status, body } = await put(anEvent('put'));
    expect(status).toBe(201);
    const { metadata } = Object(body);
    const labelled = (resourceVersion: string, v: string) =>
      put(anEvent('put', { metadata: { ...metadata, resourceVersion, labels: { v } } }));
    expect((await labelled(metadata.resourceVersion, '1')).status).toBe(200);
    expect(await labelled(metadata.resourceVersion, '2')).toMatchObject({
      status: 409,
      body: { reason: 'Conflict' },
    });
    expect((await labelled('', '3')).status).toBe(200);
    expect((await put(anEvent('other'))).status).toBe(400);
  });

  test('events: removed under preconditions, one or a selection', async () => {
    await cluster.ask('POST', EVENTS, { body: anEvent('gone-1', { reason: 'Gone' }) });
    await cluster.ask('POST', EVENTS, { body: anEvent('gone-2', { reason: 'Gone' }) });
    expect(
      (await cluster.ask('DELETE', `${EVENTS}/gone-1`, { body: { preconditions: { uid: 'other' } } })).status,
    ).toBe(409);
    expect(await cluster.ask('DELETE', `${EVENTS}/gone-1`)).toMatchObject({
      status: 200,
      body: { kind: 'Status', status: 'Success' },
    });
    const { status, body } = await cluster.ask('DELETE', `${EVENTS}?fieldSelector=reason=Gone`);
    expect([status, Object(body).items.length]).toEqual([200, 1]);
    expect((await cluster.ask('GET', `${EVENTS}?fieldSelector=reason%3DGone`)).body).toMatchObject({
      items: [],
    });
  });
});

describe('lists', () => {
  test('events: in pages, with selectors, in both versions', async () => {
    for (const [name, team] of [
      ['page-a', 'x'],
      ['page-b', 'y'],
      ['page-c', 'x'],
    ]) {
      const metadata = { name: name ?? '', labels: { team: team ?? '' } };
      await cluster.ask('POST', EVENTS, { body: anEvent('', { metadata, reason: 'Paged' }) });
    }
    const first = await cluster.ask('GET', `${ALL}?fieldSelector=reason=Paged&limit=2`);
    expect(names(first.body)).toEqual(['page-a', 'page-b']);
    const { continue: next, resourceVersion } = Object(first.body).metadata;
    const second = await cluster.ask('GET', `${ALL}?fieldSelector=reason=Paged&limit=2&continue=${next}`);
    expect(names(second.body)).toEqual(['page-c']);
    expect(Object(second.body).metadata).toEqual({ resourceVersion });
    const labelled = await cluster.ask('GET', `${EVENTS}?labelSelector=team%20in%20(x),team!=y`);
    expect(names(labelled.body)).toEqual(['page-a', 'page-c']);
    const core = await cluster.ask(
      'GET',
      '/api/v1/events?fieldSelector=involvedObject.kind=Container,reason=Paged',
    );
    expect(Object(core.body).items[0]).toMatchObject({
      apiVersion: 'v1',
      message: 'a container was started',
    });
  });

  test.each([
    ['a field that no selector may name', 'fieldSelector=note=x', 400],
    ['a selector that is none', 'labelSelector=%3D%3D', 400],
    ['a page that is none', 'continue=abc', 400],
    ['a version that is not there yet', 'resourceVersion=999999999', 504],
    ['an exact version that is gone', 'resourceVersion=1&resourceVersionMatch=Exact', 410],
  ])('events: %s', async (_case, query, status) => {
    expect(await cluster.ask('GET', `${ALL}?${query}`)).toMatchObject({
      status,
      body: { kind: 'Status', code: status },
    });
  });

  test('events: as a table, and for people', async () => {
    const { body } = await cluster.ask('GET', `${EVENTS}?limit=1`, {
      headers: { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    });
    expect(body).toMatchObject({
      kind: 'Table',
      columnDefinitions: expect.arrayContaining([expect.objectContaining({ name: 'Last Seen' })]),
      rows: [{ cells: expect.arrayContaining(['Normal']), object: { kind: 'PartialObjectMetadata' } }],
    });
    expect((await cluster.ask('GET', `${EVENTS}?pretty=true&limit=1`)).status).toBe(200);
  });
});

describe('watches', () => {
  test('events: what begins to match is added, what ceases to is deleted; resumed where it was', async () => {
    const page = await cluster.ask('GET', ALL);
    const from = Object(page.body).metadata.resourceVersion;
    using all = watchEvents(cluster.port, `${ALL}?watch=1&resourceVersion=${from}`);
    using red = watchEvents(
      cluster.port,
      `${ALL}?watch=1&resourceVersion=${from}&labelSelector=colour%3Dred`,
    );
    const label = (colour: string) =>
      cluster.ask('PATCH', `${EVENTS}/seen`, {
        body: { metadata: { labels: { colour } } },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
    await cluster.ask('POST', EVENTS, { body: anEvent('seen') });
    await label('red');
    await label('blue');
    await cluster.ask('DELETE', `${EVENTS}/seen`);
    expect(types(await all.reached(4))).toEqual(['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']);
    expect(types(await red.reached(2))).toEqual(['ADDED', 'DELETED']);
    const second = all.frames[1]?.object.metadata?.resourceVersion;
    using resumed = watchEvents(cluster.port, `${ALL}?watch=1&resourceVersion=${second}`);
    expect((await resumed.reached(2)).map(({ object }) => object)).toEqual(
      all.frames.slice(2).map(({ object }) => object),
    );
  });

  test('events: all that is there first, then a bookmark, until the time is over', async () => {
    using watch = watchEvents(
      cluster.port,
      `${EVENTS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan` +
        '&allowWatchBookmarks=true&timeoutSeconds=1',
    );
    const { body } = await cluster.ask('GET', EVENTS);
    const count = Object(body).items.length;
    const frames = await watch.reached(count + 1);
    expect(frames.slice(0, count).every(({ type }) => type === 'ADDED')).toBe(true);
    expect(frames[count]).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    await expect.poll(watch.isEnded).toBe(true);
  });

  test('events: a version that is not there, and one that is forgotten, are refused', async () => {
    expect((await cluster.ask('GET', `${ALL}?watch=1&resourceVersion=999999`)).status).toBe(504);
    expect((await cluster.ask('GET', `${ALL}?watch=1&sendInitialEvents=true`)).status).toBe(422);
  });
});

test('events: what clients ask first', async () => {
  for (const path of [
    '/api',
    '/apis',
    '/apis/events.k8s.io',
    '/apis/events.k8s.io/v1',
    '/api/v1',
    '/openapi/v2',
  ]) {
    expect((await cluster.ask('GET', path)).status).toBe(200);
  }
  const { body } = await cluster.ask('GET', '/openapi/v3');
  for (const { serverRelativeURL } of Object.values<{ serverRelativeURL: string }>(Object(body).paths)) {
    expect((await cluster.ask('GET', serverRelativeURL)).status).toBe(200);
  }
  expect(await cluster.ask('GET', '/api/v1/pods')).toMatchObject({ status: 404, body: { kind: 'Status' } });
  expect(await cluster.ask('PUT', EVENTS)).toMatchObject({
    status: 405,
    body: { reason: 'MethodNotAllowed' },
  });
  expect((await cluster.ask('GET', '/version', { token: '' })).status).toBe(200);
});
