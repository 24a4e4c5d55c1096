import { afterAll, beforeAll, expect, test } from 'vitest';
import { anEvent } from '../../support/cluster/event.ts';
import { debianKubectl } from '../../support/cluster/debian-kubectl.ts';
import { Kubectl } from '../../support/cluster/kubectl.ts';
import { needs } from '../../support/needs.ts';

/** That of Debian 12: it reads OpenAPI as protobuf alone, and judges by it before it sends anything. */
needs('kubectl-1.20')('kubectl 1.20', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await Kubectl.serve(debianKubectl() ?? '');
  });
  afterAll(() => kubectl[Symbol.asyncDispose]());

  test('it creates and applies events, and changes them by applying them again', async () => {
    expect(kubectl.minor).toBe(20);
    const created = kubectl.written('created.json', anEvent('created'));
    expect(await kubectl.run('create', '-f', created)).toBe('event.events.k8s.io/created created\n');
    const applied = anEvent('applied');
    const file = kubectl.written('applied.json', applied);
    expect(await kubectl.run('apply', '-f', file)).toBe('event.events.k8s.io/applied created\n');
    expect(await kubectl.run('apply', '-f', file)).toBe('event.events.k8s.io/applied unchanged\n');
    const metadata = { ...applied.metadata, labels: { app: 'web' } };
    kubectl.written('applied.json', { ...applied, metadata });
    expect(await kubectl.run('apply', '-f', file)).toBe('event.events.k8s.io/applied configured\n');
    const read = JSON.parse(await kubectl.run('get', 'event', 'applied', '-o', 'json'));
    expect(read.metadata.labels).toEqual({ app: 'web' });
    const dry = kubectl.written('dry.json', anEvent('dry'));
    expect(await kubectl.run('create', '--dry-run=server', '-f', dry)).toMatch(/server dry run/);
    expect(await kubectl.run('explain', 'events.regarding.name', '--api-version=events.k8s.io/v1')).toMatch(
      /FIELD: +name <string>/,
    );
  });

  test('it refuses by itself a field that events do not have, and a value of another type', async () => {
    const wrong: readonly [object, RegExp][] = [
      [{ ...anEvent('wrong'), colour: 'red' }, /ValidationError\(Event\): unknown field "colour"/],
      [
        { ...anEvent('wrong'), regarding: { kind: 'Container', shade: 'dark' } },
        /ValidationError\(Event\.regarding\): unknown field "shade"/,
      ],
      [
        { ...anEvent('wrong'), reason: ['Started'] },
        /ValidationError\(Event\.reason\): invalid type for \S+\.Event\.reason: got "array", expected "string"/,
      ],
      [
        { ...anEvent('wrong'), metadata: { name: 'wrong', finalizers: 'one' } },
        /ValidationError\(Event\.metadata\.finalizers\): invalid type/,
      ],
    ];
    for (const [event, message] of wrong) {
      const file = kubectl.written('wrong.json', event);
      await expect(kubectl.run('create', '-f', file)).rejects.toThrow(message);
      await expect(kubectl.run('apply', '-f', file)).rejects.toThrow(message);
    }
    expect(await kubectl.run('get', 'events', '-o', 'name')).not.toMatch(/wrong/);
  });
});
