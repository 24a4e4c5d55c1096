import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { remark } from 'remark';
import remarkFrontmatter from 'remark-frontmatter';
import lintFrontmatter from 'remark-lint-frontmatter-schema';
import { expect, test } from 'vitest';
import { NOTE_TYPES } from '../../../daemon/hub/notes/artifact/note.ts';
import { NOTE_SCHEMA } from '../../../daemon/hub/notes/schema/note-schema.ts';
import { CORPUS } from '../../support/hub/notes/corpus.ts';
import { descriptorOf, imageManifest } from '../../support/hub/registry-client.ts';
import { serveRegistry } from '../../support/hub/serve-registry.ts';
import { needs } from '../../support/needs.ts';

const run = promisify(execFile);

test('the linter of editors says of each note what the hub says', async () => {
  const linter = remark()
    .use(remarkFrontmatter)
    // Its ajv has the meta-schema of draft 7 alone, and would refuse the schema for naming another one.
    .use(lintFrontmatter, {
      embed: JSON.parse(JSON.stringify(NOTE_SCHEMA)) as object,
      ajvOptions: { validateSchema: false },
    });
  const differing: string[] = [];
  for (const { title, yaml, wrong } of CORPUS) {
    const { messages } = await linter.process({ path: 'note.md', value: `---\n${yaml}---\n# A note\n` });
    if (messages.length > 0 !== wrong.length > 0) {
      differing.push(title);
    }
  }
  expect(differing).toEqual([]);
  const bare = await linter.process({ path: 'note.md', value: '# Without front matter\n' });
  expect(bare.messages).toEqual([]);
});

test('a note is pushed and found by calls of the registry alone, and a wrong one is refused', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const name = 'alice/app';
  const { digest } = await alice.pushImage(name, '1');
  const subject = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest, size: 1 };
  const push = async (config: string, text: string, more: object = {}) => {
    await alice.pushBlob(name, config);
    await alice.pushBlob(name, text);
    return alice.putManifest(name, `note-${config.length}-${text.length}`, {
      ...imageManifest('', []),
      artifactType: NOTE_TYPES.artifact,
      config: descriptorOf(NOTE_TYPES.metadata, config),
      layers: [descriptorOf(NOTE_TYPES.text, text)],
      subject,
      ...more,
    });
  };
  expect(await push('{"tags":["a"]}', '# Without front matter')).toMatchObject({
    status: 201,
    headers: { 'oci-subject': digest },
  });
  expect((await push('{"tags":["a"]}', '---\ntags: [a]\n---\n# With it')).status).toBe(201);
  const listed = await alice.ask(
    'GET',
    `/v2/${name}/referrers/${digest}?artifactType=${encodeURIComponent(NOTE_TYPES.artifact)}`,
  );
  expect(listed.json).toMatchObject({
    manifests: [{ artifactType: NOTE_TYPES.artifact }, { artifactType: NOTE_TYPES.artifact }],
  });
  const rows: readonly (readonly [string, string, object, string])[] = [
    ['{"owner":1}', 'text', {}, 'owner'],
    ['{"tags":[],"tags":["a"]}', 'text', {}, 'config'],
    ['{', 'text', {}, 'config'],
    ['{"tags":["a"]}', '---\ntags: [b]\n---\n', {}, 'front-matter'],
    ['{"tags":["a"]}', '---\ntags: [a\n---\n', {}, 'front-matter'],
    ['{}', 'one', { layers: [] }, 'layers'],
    ['{}', 'two', { layers: [descriptorOf('text/html', 'two')] }, 'layers.0.mediaType'],
    ['{}', 'three', { config: descriptorOf('application/json', '{}') }, 'config.mediaType'],
  ];
  for (const [config, text, more, field] of rows) {
    const answer = await push(config, text, more);
    expect([config, answer.status, answer.code]).toEqual([config, 400, 'MANIFEST_INVALID']);
    expect(answer.json).toMatchObject({ errors: [{ detail: { errors: [{ field }] } }] });
  }
  expect(await registry.hub.root.notes.list('alice', 'app', {})).toHaveLength(2);
});

needs('skopeo')('skopeo and notes', () => {
  test('skopeo copies a note into another repository, where it is one with the same digest', async () => {
    await using registry = await serveRegistry();
    const { hub, server } = registry;
    const token = await hub.token('alice', 'write:packages');
    const alice = await registry.as('alice');
    const { digest } = await alice.pushImage('alice/open', '1');
    const made = await server.ask('POST', '/repos/alice/open/notes?subject=1', {
      token,
      headers: { 'Content-Type': 'text/markdown' },
      body: '---\ntags: [copied]\n---\n# Goes along\n',
    });
    const note = made.body as { digest: string };
    const at = (name: string, reference: string) =>
      `docker://127.0.0.1:${server.port}/alice/${name}${reference}`;
    const copy = (...references: string[]) =>
      run('skopeo', [
        '--insecure-policy',
        'copy',
        '--src-tls-verify=false',
        '--dest-tls-verify=false',
        `--src-registry-token=${token}`,
        `--dest-registry-token=${token}`,
        ...references,
      ]);
    await alice.pushImage('alice/copied', '1');
    await copy(at('open', `@${note.digest}`), at('copied', ':note'));
    expect(await hub.root.notes.list('alice', 'copied', { tag: 'copied' })).toMatchObject([
      { digest: note.digest, title: 'Goes along', subject: { digest, tags: ['1'] } },
    ]);
  });
});
