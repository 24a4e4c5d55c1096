import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

describeEngine('remove', (engine) => {
  const status = async (method: string, url: string): Promise<number> =>
    (await engine.http.request(method, url)).status;

  test('remove: an ended container is gone, its name free', async () => {
    const id = await engine.create(['true'], {}, {}, 'gone');
    expect(await status('DELETE', `/containers/${id}`)).toBe(204);
    expect(await status('GET', `/containers/${id}/json`)).toBe(404);
    await engine.create(['true'], {}, {}, 'gone');
  });

  test('remove: a running container is refused, and goes with force', async () => {
    const id = await engine.start(['sleep', '1000']);
    const answer = await engine.http.request('DELETE', `/containers/${id}`);
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('You cannot remove a running container');
    expect(await status('DELETE', `/containers/${id}?force=1`)).toBe(204);
  });

  test('remove: a second time is 404', async () => {
    const id = await engine.create(['true']);
    await engine.remove(id);
    expect(await status('DELETE', `/containers/${id}`)).toBe(404);
  });

  test('remove: two clients at once, one of them does it', async () => {
    const id = await engine.start(['sleep', '1000']);
    const both = await Promise.all([1, 2].map(() => status('DELETE', `/containers/${id}?force=1`)));
    expect(both).toContain(204);
    expect(await status('GET', `/containers/${id}/json`)).toBe(404);
  });

  test('auto-remove: is gone after its end, and wait still tells the exit code', async () => {
    const id = await engine.create(['sh', '-c', 'exit 6'], { AutoRemove: true });
    const waiting = engine.wait(id, '?condition=removed');
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect(await waiting).toBe(6);
    expect(await status('GET', `/containers/${id}/json`)).toBe(404);
  });

  test('auto-remove: one that runs goes with force, and who asked for it is told so', async () => {
    const id = await engine.start(['sleep', '1000'], { AutoRemove: true });
    expect(await status('DELETE', `/containers/${id}?force=1`)).toBe(204);
    expect(await status('GET', `/containers/${id}/json`)).toBe(404);
  });

  test('auto-remove: takes anonymous volumes along and leaves named ones', async () => {
    await engine.http.ok('POST', '/volumes/create', { Name: 'kept' });
    const id = await engine.create(
      ['true'],
      { AutoRemove: true, Binds: ['kept:/named'] },
      { Volumes: { '/anonymous': {} } },
    );
    const waiting = engine.wait(id, '?condition=removed');
    await engine.http.ok('POST', `/containers/${id}/start`);
    await waiting;
    const names = async (): Promise<string[]> => {
      const { Volumes } = await engine.http.ok<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
      return (Volumes ?? []).map(({ Name }) => Name);
    };
    await until('the anonymous volume to go', async () => (await names()).length === 1);
    expect(await names()).toEqual(['kept']);
    await engine.http.ok('DELETE', '/volumes/kept');
  });

  test('prune: removes what does not run, and says which', async () => {
    const ended = (await engine.run(['true'])).id;
    const created = await engine.create(['true']);
    const running = await engine.start(['sleep', '1000']);
    const report = await engine.http.ok<{ ContainersDeleted: string[] }>('POST', '/containers/prune');
    expect(report.ContainersDeleted.toSorted()).toEqual([ended, created].toSorted());
    expect((await engine.list()).map(({ Id }) => Id)).toEqual([running]);
  });

  test('prune: label filter spares the others', async () => {
    const marked = await engine.create(['true'], {}, { Labels: { old: 'yes' } });
    const other = await engine.create(['true']);
    const filters = encodeURIComponent(JSON.stringify({ label: ['old=yes'] }));
    const report = await engine.http.ok('POST', `/containers/prune?filters=${filters}`);
    expect(report).toMatchObject({ ContainersDeleted: [marked] });
    expect((await engine.list()).map(({ Id }) => Id)).toEqual([other]);
  });

  test.skipIf(onReference)('remove: files that were made immutable go with their container', async () => {
    const { id } = await engine.run(['touch', '/fixed']);
    const { GraphDriver } = await engine.http.ok<{ GraphDriver: { Data: { UpperDir: string } } }>(
      'GET',
      `/containers/${id}/json`,
    );
    execFileSync('chattr', ['+i', path.join(GraphDriver.Data.UpperDir, 'fixed')]);
    await engine.remove(id);
    const temporary = path.join(engine.daemon.paths.dataRoot, 'tmp');
    const left = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('removed-'));
    await until('its files to be gone', () => left().length === 0);
  });
});
