import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { NOTE_SCHEMA } from '../../../../daemon/hub/notes/schema/note-schema.ts';
import { serveRegistry } from '../../../support/hub/serve-registry.ts';

const MARKDOWN = `---
# kept as it is written
application: {category: backup, cli: true}
tags: [restic, disk]
aliases: [copies]
rev: 2024-01-02
---
# Backups

How to keep a **copy** of a database.
`;
const METADATA = {
  application: { category: 'backup', cli: true },
  tags: ['restic', 'disk'],
  aliases: ['copies'],
  rev: '2024-01-02',
};
const NOTES = '/repos/alice/open/notes';

async function served() {
  const registry = await serveRegistry({
    anonymousPerHour: 0,
    userPerHour: 0,
    contentPerMinute: 0,
    contentPerHour: 0,
  });
  const { hub, server } = registry;
  const token = await hub.token('alice', 'write:packages');
  return {
    ...registry,
    token,
    ask: (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      server.ask(method, path, { token, headers, ...(body !== undefined && { body }) }),
    found: async (query: string, as: string | undefined = token) => {
      const { body } = await server.ask('GET', query, { ...(as !== undefined && { token: as }) });
      return (body as { id: number }[]).map(({ id }) => id);
    },
  };
}

test('the schema is published to everybody, as it is used', async () => {
  await using hub = await served();
  const { status, body } = await hub.server.ask('GET', '/schemas/note-metadata.json');
  expect([status, body]).toEqual([200, JSON.parse(JSON.stringify(NOTE_SCHEMA))]);
});

test('a note is made, read, replaced, patched and deleted', async () => {
  await using hub = await served();
  const made = await hub.ask('POST', NOTES, { markdown: MARKDOWN });
  expect(made).toMatchObject({
    status: 201,
    headers: { location: 'http://hub.test:5010/repos/alice/open/notes/1' },
    body: {
      id: 1,
      repository: 'alice/open',
      subject: null,
      title: 'Backups',
      metadata: METADATA,
      defaults: {},
      text: '# Backups\n\nHow to keep a **copy** of a database.\n',
      markdown: MARKDOWN,
    },
  });
  expect((await hub.ask('GET', `${NOTES}/1`)).body).toEqual(made.body);
  const replaced = await hub.ask('PUT', `${NOTES}/1`, {
    metadata: { tags: ['yes', '2024-01-02'] },
    text: 'Bare',
  });
  expect(replaced).toMatchObject({
    status: 200,
    body: { id: 1, title: null, metadata: { tags: ['yes', '2024-01-02'] }, text: 'Bare' },
  });
  const patched = await hub.ask('PATCH', `${NOTES}/1`, {
    metadata: { tags: null, device: { vendor: 'x' }, aliases: ['a'] },
  });
  expect(patched).toMatchObject({
    status: 200,
    body: { id: 1, title: 'a', metadata: { device: { vendor: 'x' }, aliases: ['a'] }, text: 'Bare' },
  });
  expect(patched.body).not.toHaveProperty('metadata.tags');
  expect(await hub.ask('PATCH', `${NOTES}/1`, { metadata: null, text: null })).toMatchObject({
    body: { metadata: {}, text: '', markdown: '' },
  });
  expect((await hub.ask('GET', NOTES)).body).toHaveLength(1);
  expect((await hub.ask('DELETE', `${NOTES}/1`)).status).toBe(204);
  expect((await hub.ask('GET', `${NOTES}/1`)).status).toBe(404);
  expect((await hub.ask('DELETE', `${NOTES}/1`)).status).toBe(404);
  expect((await hub.ask('POST', NOTES, { text: 'again' })).body).toMatchObject({ id: 2 });
});

test('a note without metadata has no front matter, unless its text would be read as such', async () => {
  await using hub = await served();
  const made = async (text: string) =>
    (await hub.ask('POST', NOTES, { metadata: {}, text })).body as { markdown: string; text: string };
  expect(await made('Bare\n')).toMatchObject({ markdown: 'Bare\n', text: 'Bare\n' });
  const rule = '---\na line above\n';
  expect(await made(rule)).toMatchObject({ markdown: `---\n{}\n---\n${rule}`, text: rule });
  const empty = await hub.ask('POST', NOTES, { markdown: '---\n---\nx' });
  expect(empty).toMatchObject({ status: 422, body: { errors: [{ field: 'metadata', value: null }] } });
});

test('Markdown is sent as such too, and is about an image where the query says so', async () => {
  await using hub = await served();
  const alice = await hub.as('alice');
  const { digest } = await alice.pushImage('alice/open', 'v1');
  const sent = await hub.ask('POST', `${NOTES}?subject=v1`, MARKDOWN, {
    'Content-Type': 'text/markdown; charset=utf-8',
  });
  expect(sent).toMatchObject({
    status: 201,
    body: { subject: { digest, tags: ['v1'] }, markdown: MARKDOWN },
  });
  // It stays about the image while nothing else is said, also when that is gone.
  await alice.ask('DELETE', `/v2/alice/open/manifests/${digest}`);
  expect(await hub.ask('PATCH', `${NOTES}/1`, { text: 'x' })).toMatchObject({
    status: 200,
    body: { subject: { digest, tags: [] } },
  });
  expect(await hub.ask('PATCH', `${NOTES}/1`, { subject: null })).toMatchObject({ body: { subject: null } });
  const refused = await hub.ask('PATCH', `${NOTES}/1`, { subject: 'v1' });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'subject', value: 'v1' }] } });
});

test.each([
  [
    'a note of many mistakes',
    { markdown: '---\nowner: me\nrev: x\nmeta: {kind: heap}\n---\n' },
    ['meta.kind', 'owner', 'rev'],
  ],
  ['metadata of mistakes', { metadata: { device: {}, website: ['x'] } }, ['device.vendor', 'website.0']],
  ['front matter that is no YAML', { markdown: '---\na: [\n---\n' }, ['front-matter']],
  ['a note whole and in parts', { markdown: 'x', text: 'y' }, ['markdown']],
  ['a note of a number', { markdown: 5 }, ['markdown']],
  ['a field of nobody', { colour: 'red' }, ['colour']],
  ['an image that is not there', { text: 'x', subject: 'v9' }, ['subject']],
  ['an image of no name', { text: 'x', subject: '../..' }, ['subject']],
  ['too much', { text: 'x'.repeat(limits.hubNoteBytesMax + 1) }, ['markdown']],
])('%s: 422 with all of it, made or validated', async (_what, body, fields) => {
  await using hub = await served();
  const refused = await hub.ask('POST', NOTES, body);
  const { errors } = refused.body as { errors: { field: string; resource: string; message: string }[] };
  expect([refused.status, errors.map(({ field }) => field).toSorted()]).toEqual([422, fields]);
  expect(errors.every(({ resource, message }) => resource === 'Note' && message !== '')).toBe(true);
  const validated = await hub.server.ask('POST', '/notes/validate', { body });
  expect(validated.status).toBe(fields.includes('subject') ? 200 : 422);
  expect((await hub.ask('GET', NOTES)).body).toEqual([]);
});

test('what is validated is not kept', async () => {
  await using hub = await served();
  const { status, body } = await hub.server.ask('POST', '/notes/validate', { body: { markdown: MARKDOWN } });
  expect([status, body]).toMatchObject([200, { title: 'Backups', metadata: METADATA, markdown: MARKDOWN }]);
  expect(await hub.found('/notes')).toEqual([]);
});

test('the same note twice is refused, and one that would become it', async () => {
  await using hub = await served();
  await hub.ask('POST', NOTES, { text: 'one' });
  await hub.ask('POST', NOTES, { text: 'two' });
  const errors = [{ field: 'markdown', code: 'already_exists' }];
  expect(await hub.ask('POST', NOTES, { text: 'one' })).toMatchObject({ status: 422, body: { errors } });
  expect(await hub.ask('PUT', `${NOTES}/2`, { text: 'one' })).toMatchObject({
    status: 422,
    body: { errors },
  });
  expect((await hub.ask('PUT', `${NOTES}/2`, { text: 'two' })).status).toBe(200);
  expect(await hub.found('/notes')).toEqual([1, 2]);
});

test('changes at the same time are all made', async () => {
  await using hub = await served();
  await hub.ask('POST', NOTES, { text: 'one' });
  const patches = ['wiki', 'rfc', 'chart', 'source'].map((field) =>
    hub.ask('PATCH', `${NOTES}/1`, { metadata: { [field]: `https://${field}.example` } }),
  );
  expect((await Promise.all(patches)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { metadata } = (await hub.ask('GET', `${NOTES}/1`)).body as { metadata: object };
  expect(Object.keys(metadata).toSorted()).toEqual(['chart', 'rfc', 'source', 'wiki']);
  const manifests = (await hub.hub.records.list('manifest/')).records;
  expect([manifests.length, (await hub.hub.records.list('note/')).records.length]).toEqual([1, 1]);
});

test('notes are found by category, tag, alias and words, in what the caller may see', async () => {
  await using hub = await served();
  await hub.ask('POST', NOTES, { markdown: MARKDOWN });
  await hub.ask('POST', '/repos/alice/secret/notes', {
    metadata: { 'website-meta': { category: 'api' }, tags: ['disk'] },
    text: '# Hidden\n\nthe café of a database database',
  });
  const bob = await hub.hub.token('bob', 'read:packages');
  const rows: readonly (readonly [string, number[], number[]])[] = [
    ['', [1, 2], [1]],
    ['category=backup', [1], [1]],
    ['category=api', [2], []],
    ['category=b', [], []],
    ['tag=disk', [1, 2], [1]],
    ['alias=copies', [1], [1]],
    ['alias=cop', [], []],
    ['q=DATABASE', [2, 1], [1]],
    ['q=cafe', [2], []],
    ['q=restic', [1], [1]],
    ['q=database&tag=disk&category=api', [2], []],
    ['q=hidden', [2], []],
    ['q=%22%20OR%20x', [], []],
  ];
  for (const [query, alice, others] of rows) {
    expect([query, await hub.found(`/notes?${query}`), await hub.found(`/notes?${query}`, bob)]).toEqual([
      query,
      alice,
      others,
    ]);
  }
  expect(await hub.found(`${NOTES}?q=database`)).toEqual([1]);
  // The index follows whatever happens to notes.
  await hub.ask('PUT', `${NOTES}/1`, { text: 'all new' });
  expect([await hub.found('/notes?q=restic'), await hub.found('/notes?q=new')]).toEqual([[], [1]]);
  await hub.hub.root.repositories.remove('alice', 'open');
  expect(await hub.found('/notes?q=new')).toEqual([]);
  for (const [path, field] of [
    ['/notes?tags=disk', 'tags'],
    ['/notes?q=x&Category=api', 'Category'],
    [`${NOTES}?offset=1`, 'offset'],
  ] as const) {
    const message = expect.stringContaining(`no such field: "${field}"`);
    expect(await hub.ask('GET', path)).toMatchObject({ status: 400, body: { message } });
  }
  expect(await hub.ask('POST', `${NOTES}?about=v1`, { text: 'x' })).toMatchObject({ status: 400 });
  for (const query of ['tag=a&tag=b', `q=${'x'.repeat(300)}`, `q=${'x+'.repeat(30)}`]) {
    expect((await hub.ask('GET', `/notes?${query}`)).status).toBe(422);
  }
});

test('docker search asks for repositories by name, description and notes', async () => {
  await using hub = await served();
  await hub.hub.root.repositories.edit('alice', 'open', { description: 'Keeps copies' });
  await hub.ask('POST', '/repos/alice/secret/notes', { markdown: MARKDOWN });
  const bob = await hub.hub.token('bob', 'read:packages');
  const names = async (query: string, token: string | undefined) => {
    const { body } = await hub.server.ask('GET', `/v1/search?${query}`, { ...(token && { token }) });
    return (body as { results: { name: string; description: string }[] }).results.map(
      ({ name, description }) => `${name} ${description}`,
    );
  };
  expect(await names('q=backup', hub.token)).toEqual(['alice/secret Backups']);
  expect(await names('q=backup', bob)).toEqual([]);
  expect(await names('q=copies', hub.token)).toEqual(['alice/open Keeps copies', 'alice/secret Backups']);
  expect(await names('q=ALICE%2Fop', undefined)).toEqual(['alice/open Keeps copies']);
  expect(await names('q=&n=1', undefined)).toEqual(['alice/open Keeps copies']);
  expect((await hub.ask('GET', '/v1/search?q=x&n=0')).status).toBe(422);
  expect(await hub.server.ask('GET', '/v1/_ping')).toMatchObject({ status: 200, body: true });
});

test('docker search shows an access token for searching, which docker login leads to, and no other one', async () => {
  await using hub = await served();
  const basic = { Authorization: `Basic ${Buffer.from(`alice:${hub.token}`).toString('base64')}` };
  const search = async (scope: string, headers: Record<string, string> = basic) => {
    const given = await hub.server.ask('GET', `/token?scope=${scope}`, { headers });
    const { token } = given.body as { token: string };
    const { status, body } = await hub.server.ask('GET', '/v1/search?q=alice', {
      headers: { Authorization: `Bearer ${token}` },
    });
    return status === 200
      ? (body as { results: { name: string }[] }).results.map(({ name }) => name)
      : status;
  };
  expect(await search('registry:catalog:search')).toEqual(['alice/open', 'alice/secret']);
  expect(await search('registry:catalog:search', {})).toEqual(['alice/open']);
  expect(await search('repository:alice/secret:pull')).toBe(401);
  expect(
    (await hub.server.ask('GET', '/v1/search?q=a', { headers: { Authorization: 'Bearer a.b.c' } })).status,
  ).toBe(401);
});

test.each([
  ['nobody', undefined, 'open', 200, 401],
  ['nobody', undefined, 'secret', 404, 404],
  ['bob', ['write:packages'], 'open', 200, 403],
  ['bob', ['repo'], 'secret', 404, 404],
  ['alice', ['read:packages'], 'secret', 200, 403],
  ['alice', ['repo'], 'secret', 200, 200],
])(
  '%s with %j at alice/%s reads with %i and writes with %i',
  async (user, scopes, repository, read, write) => {
    await using hub = await served();
    const notes = `/repos/alice/${repository}/notes`;
    expect((await hub.ask('POST', notes, { text: 'x' })).status).toBe(201);
    const token = scopes === undefined ? undefined : await hub.hub.token(user, ...scopes);
    const status = async (method: string, path: string, body?: object) =>
      (await hub.server.ask(method, path, { ...(token && { token }), ...(body && { body }) })).status;
    expect(await status('GET', notes)).toBe(read);
    expect(await status('GET', `${notes}/1`)).toBe(read);
    expect(await status('PUT', `${notes}/1`, { text: 'y' })).toBe(write);
    expect(await status('PATCH', `${notes}/1`, { text: 'z' })).toBe(write);
    expect(await status('POST', notes, { text: 'w' })).toBe(write === 200 ? 201 : write);
    expect(await status('DELETE', `${notes}/1`)).toBe(write === 200 ? 204 : write);
  },
);
