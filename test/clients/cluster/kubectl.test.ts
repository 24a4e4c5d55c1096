import { afterAll, beforeAll, expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { Kubectl } from '../../support/cluster/kubectl.ts';
import { until } from '../../support/engine/http.ts';
import { needs } from '../../support/needs.ts';

let kubectl: Kubectl;
beforeAll(async () => {
  kubectl = await Kubectl.serve('kubectl');
});
afterAll(() => kubectl[Symbol.asyncDispose]());

/** That of Debian 12 judges fields by itself, and has no `kubectl events`. */
const isOld = (): boolean => kubectl.minor < 24;

needs('kubectl')('kubectl', () => {
  test('kubectl: creates, lists, labels, patches, applies and deletes events', async () => {
    const file = kubectl.written('event.json', anEvent('by-kubectl'));
    expect(await kubectl.run('create', '-f', file)).toBe('event.events.k8s.io/by-kubectl created\n');
    const dry = kubectl.written('dry.json', anEvent('dry'));
    expect(await kubectl.run('create', '--dry-run=server', '-f', dry)).toMatch(/server dry run/);
    if (!isOld()) {
      expect(await kubectl.run('events')).toMatch(/Normal +Started +Container\/web +a container was started/);
    }
    expect(await kubectl.run('get', 'events', '-A')).toMatch(
      /^NAMESPACE +LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\ndefault +\S+ +Normal +Started +container\/web +a/,
    );
    await kubectl.run('label', 'events.events.k8s.io', 'by-kubectl', 'app=web');
    await kubectl.run('patch', 'event', 'by-kubectl', '-p', '{"metadata":{"annotations":{"a":"b"}}}');
    await kubectl.run(
      'patch',
      'event',
      'by-kubectl',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/metadata/labels/x","value":"y"}]',
    );
    expect(await kubectl.run('apply', '--server-side', '-f', file)).toMatch(/serverside-applied/);
    expect(await kubectl.run('describe', 'event', 'by-kubectl')).toMatch(
      /^Message: +a container was started$/m,
    );
    const { metadata } = JSON.parse(await kubectl.run('get', 'event', 'by-kubectl', '-o', 'json'));
    expect([metadata.labels, metadata.annotations]).toEqual([{ app: 'web', x: 'y' }, { a: 'b' }]);
    expect(await kubectl.run('get', 'events', '--field-selector', 'reason=Other', '-o', 'name')).toBe('');
    expect(await kubectl.run('delete', 'event', 'by-kubectl')).toMatch(/deleted/);
    expect(await kubectl.run('get', 'events', '-o', 'name')).toBe('');
  });

  test('kubectl: tells what is refused', async () => {
    const strict = kubectl.written('strict.json', { ...anEvent('strict'), colour: 'red' });
    await expect(kubectl.run('create', '-f', strict)).rejects.toThrow(/unknown field "colour"/);
    const bad = kubectl.written('bad.json', anEvent('bad', { action: '' }));
    await expect(kubectl.run('create', '-f', bad)).rejects.toThrow(/is invalid: action: Required value/);
    await expect(kubectl.run('get', 'event', 'nothing')).rejects.toThrow(/"nothing" not found/);
    await expect(kubectl.as('reader', 'create', '-f', bad)).rejects.toThrow(/Forbidden/);
  });

  test('kubectl: a watch shows what comes, under one heading', async () => {
    const watch = kubectl.spawn('get', 'events', '-w');
    let text = '';
    watch.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    try {
      await kubectl.run('create', '-f', kubectl.written('w1.json', anEvent('w1')));
      await kubectl.run('create', '-f', kubectl.written('w2.json', anEvent('w2')));
      await until('two lines', () => (text.match(/container\/web/g) ?? []).length >= 2);
      expect(text.match(/LAST SEEN/g)).toHaveLength(1);
    } finally {
      watch.kill();
    }
  });
});
