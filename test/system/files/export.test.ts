import { request } from 'node:http';
import { expect, test } from 'vitest';
import type { ContainerChange } from '../../../api/types/container.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { descriptorGrowth, restingDescriptors } from '../../support/engine/oracle.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { tar } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';
import { residentBytes } from '../../support/process.ts';

const CHANGE =
  'echo x > /etc/new; rm /etc/group; echo y >> /etc/passwd; mkdir -p /n/m; touch /n/m/o; rm -r /base/gone;' +
  ' rm -r /base/again; mkdir /base/again; touch /base/again/fresh; chmod 700 /base/mode; cat /base/same >/dev/null;' +
  ' rm /base/kind; mkdir /base/kind';

describeEngine('export and changes', (engine) => {
  const loadBase = async (): Promise<void> => {
    const layer = tar([
      { name: 'base/' },
      { name: 'base/gone/' },
      { name: 'base/gone/file', content: '1' },
      { name: 'base/again/' },
      { name: 'base/again/old', content: '1' },
      { name: 'base/mode/' },
      { name: 'base/same', content: 'same' },
      { name: 'base/kind', content: 'file' },
    ]);
    const body = busyboxImageTar({ tags: ['based:1'], extraLayers: [layer] });
    await engine.http.request('POST', '/images/load?quiet=1', {
      body,
      headers: { 'Content-Type': 'application/x-tar' },
    });
  };

  test('changes: what was added, modified and deleted, with the directories it was in', async () => {
    await loadBase();
    const id = await engine.start(['sh', '-c', CHANGE], { Binds: ['vol:/vol'] }, { Image: 'based:1' });
    await engine.wait(id);
    const changes = await engine.http.ok<ContainerChange[]>('GET', `/containers/${id}/changes`);
    const lines = changes
      .map(({ Kind, Path }) => `${'CAD'[Kind]} ${Path}`)
      .toSorted((a, b) => (a.slice(2) < b.slice(2) ? -1 : 1));
    expect(lines).toEqual([
      'C /base',
      'C /base/again',
      'A /base/again/fresh',
      'D /base/again/old',
      'D /base/gone',
      'C /base/kind',
      'C /base/mode',
      'C /etc',
      'D /etc/group',
      'A /etc/new',
      'C /etc/passwd',
      'A /n',
      'A /n/m',
      'A /n/m/o',
      'A /vol',
    ]);
  });

  test('changes: a container that changed nothing has none, running or not', async () => {
    const id = await engine.create(['sleep', '600']);
    for (const verb of ['start', 'kill']) {
      expect(await engine.http.ok('GET', `/containers/${id}/changes`)).toEqual(onReference ? null : []);
      await engine.http.ok('POST', `/containers/${id}/${verb}`);
    }
    expect((await engine.http.request('GET', '/containers/nobody/changes')).status).toBe(404);
  });

  test('export: the root without volumes, which imports and runs again', async () => {
    const id = await engine.start(
      [
        'sh',
        '-c',
        'echo kept > /file; chmod 4711 /file; chown 5:6 /file; ln /file /again; echo v > /v/volume; sleep 600',
      ],
      { Binds: ['vol:/v'] },
    );
    await expect.poll(async () => (await engine.exec(id, ['cat', '/v/volume'])).stdout).toBe('v\n');
    const running = await engine.http.request('GET', `/containers/${id}/export`);
    expect(running.headers['content-type']).toBe('application/octet-stream');
    await engine.http.ok('POST', `/containers/${id}/kill`);
    await engine.wait(id);
    const stopped = await engine.http.request('GET', `/containers/${id}/export`);
    for (const { bytes } of [running, stopped]) {
      const members = new Map(untar(bytes).map((member) => [member.name, member]));
      expect(members.get('again')).toMatchObject({ type: 'file', uid: 5, gid: 6 });
      expect(members.get('file')).toMatchObject({ type: 'link', linkName: 'again' });
      expect(members.get('v/')).toMatchObject({ type: 'directory' });
      expect(members.has('v/volume')).toBe(false);
    }
    if (!onReference) {
      expect(stopped.bytes.equals(running.bytes)).toBe(true);
    }
    await engine.http.request('POST', '/images/create?fromSrc=-&repo=exported&tag=1', {
      body: stopped.bytes,
      headers: { 'Content-Type': 'application/x-tar' },
    });
    const copy = await engine.create(['/bin/cat', '/file'], {}, { Image: 'exported:1' });
    await engine.http.ok('POST', `/containers/${copy}/start`);
    await engine.wait(copy);
    expect((await engine.logs(copy)).stdout).toBe('kept\n');
  });

  test.runIf(!onReference)(
    'export: a client that stops reading costs no memory, one that leaves frees all',
    async () => {
      const id = await engine.start(['sh', '-c', 'head -c 300000000 /dev/zero > /big; exec sleep 600']);
      await until(
        'the file',
        async () => (await engine.exec(id, ['stat', '-c', '%s', '/big'])).stdout === '300000000\n',
      );
      await engine.http.ok('GET', `/containers/${id}/changes`);
      const before = await restingDescriptors(engine.daemon);
      const answers = await Promise.all(Array.from({ length: 6 }, () => begin(engine.http.socketPath, id)));
      await new Promise((resolve) => {
        setTimeout(resolve, 500);
      });
      const busy = residentBytes(engine.daemon.pid);
      answers.forEach((answer) => answer.destroy());
      // Threads end when they had no work for a while.
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
      // Six times 300 MB were asked for.
      expect(busy).toBeLessThan(400 * 1024 * 1024);
      await engine.http.ok('POST', `/containers/${id}/kill`);
    },
  );
});

/** Asks for an export and reads none of it. */
function begin(socketPath: string, id: string): Promise<{ destroy(): void }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path: `/containers/${id}/export`, agent: false }, (response) => {
      response.pause();
      resolve(response);
    });
    sent.once('error', reject);
    sent.end();
  });
}
