import { afterEach, beforeEach, expect, test } from 'vitest';
import { mountsBelow } from '../../support/engine/cleanup.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';
import { untar } from '../../support/images/untar.ts';

const IMAGE = 'tools:1';

function host(Subpath?: string, Source = IMAGE): object {
  const options = Subpath === undefined ? {} : { ImageOptions: { Subpath } };
  return { Mounts: [{ Type: 'image', Source, Target: '/tools', ...options }] };
}

// Since API 1.48, which dockerd refuses to older clients; here every client may ask.
describeEngine(
  'an image mounted into a container of another',
  (engine) => {
    beforeEach(async () => {
      // Two layers of its own, and a link that leads out of it.
      const script = 'mkdir -p /opt/tool/bin; echo first > /opt/tool/a; ln -s /etc /opt/away';
      const first = await engine.create(['sh', '-c', script]);
      await engine.http.ok('POST', `/containers/${first}/start`);
      await engine.wait(first);
      await engine.http.ok('POST', `/commit?container=${first}&repo=tools&tag=0`);
      const second = await engine.create(
        ['sh', '-c', 'echo second > /opt/tool/bin/b'],
        {},
        { Image: 'tools:0' },
      );
      await engine.http.ok('POST', `/containers/${second}/start`);
      await engine.wait(second);
      await engine.http.ok('POST', `/commit?container=${second}&repo=tools&tag=1`);
    });
    afterEach(async () => {
      await engine.removeAll();
      for (const name of [IMAGE, 'tools:0']) {
        await engine.http.request('DELETE', `/images/${name}`);
      }
    });

    const mounts = (): string[] =>
      mountsBelow(`${engine.daemon.paths.dataRoot}/containers`).filter((path) => path.includes('source-'));

    test.each([
      [undefined, ['cat', '/tools/opt/tool/a', '/tools/opt/tool/bin/b'], 'first\nsecond\n'],
      ['opt/tool', ['find', '/tools', '-type', 'f'], '/tools/a\n/tools/bin/b\n'],
      ['opt/tool/bin/b', ['cat', '/tools'], 'second\n'],
    ])('its part %s is seen', async (subpath, command, stdout) => {
      const seen = await engine.run(command, host(subpath));
      expect({ ...seen, stdout: seen.stdout.split('\n').toSorted().join('\n') }).toMatchObject({
        exitCode: 0,
        stdout: stdout.split('\n').toSorted().join('\n'),
      });
      await expect.poll(mounts).toEqual([]);
    });

    test('nobody can change it, and inspect tells which one it is', async () => {
      const { Id } = await engine.http.ok<{ Id: string }>('GET', `/images/${IMAGE}/json`);
      const id = await engine.create(['sh', '-c', 'echo x > /tools/opt/tool/a'], host());
      await engine.http.ok('POST', `/containers/${id}/start`);
      expect(await engine.wait(id)).not.toBe(0);
      expect((await engine.logs(id)).stderr).toMatch(/Read-only file system/);
      const { Mounts } = await engine.http.ok<{ Mounts: unknown[] }>('GET', `/containers/${id}/json`);
      const common = { Mode: '', RW: false, Propagation: '' };
      expect(Mounts).toEqual([{ Type: 'image', Name: IMAGE, Source: Id, Destination: '/tools', ...common }]);
    });

    test('the image is in use: by a container that runs it goes not even by force', async () => {
      const id = await engine.create(['sleep', '1000'], host());
      const refused = await engine.http.request('DELETE', `/images/${IMAGE}`);
      expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(id.slice(0, 12))]);
      await engine.http.ok('POST', `/containers/${id}/start`);
      await engine.http.ok('POST', '/images/prune?filters={"dangling":["false"]}');
      const { Id } = await engine.http.ok<{ Id: string }>('GET', `/images/${IMAGE}/json`);
      expect((await engine.http.request('DELETE', `/images/${Id}?force=1`)).status).toBe(409);
      expect((await engine.exec(id, ['cat', '/tools/opt/tool/bin/b'])).stdout).toBe('second\n');
      await engine.http.ok('DELETE', `/containers/${id}?force=1`);
      await engine.http.ok('DELETE', `/images/${IMAGE}`);
    });

    test('an image that was taken away by force is told of at the start', async () => {
      const id = await engine.create(['true'], host());
      await engine.http.ok('DELETE', `/images/${IMAGE}?force=1`);
      const answer = await engine.http.request('POST', `/containers/${id}/start`);
      const text = expect.stringMatching(
        /No such image: tools:1 \(sha256:.*\), which is to be mounted at \/tools/,
      );
      expect([answer.status, answer.text]).toEqual([404, text]);
      expect(mounts()).toEqual([]);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    });

    test.each([
      ['missing', 404, /cannot access path .*: no such file or directory/],
      ['opt/away', 400, /path concatenation escapes the base directory/],
    ])('%s of it is refused at the start, and leaves nothing', async (subpath, status, text) => {
      const id = await engine.create(['true'], host(subpath));
      const answer = await engine.http.request('POST', `/containers/${id}/start`);
      expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(text)]);
      expect(mounts()).toEqual([]);
    });

    test('cp sees it too, also in a container that never ran; other containers get it by volumes-from', async () => {
      const id = await engine.create(['true'], host('opt/tool'));
      const { bytes } = await engine.http.request('GET', `/containers/${id}/archive?path=/tools/bin/b`);
      expect(untar(bytes).map(({ content }) => content.toString())).toEqual(['second\n']);
      const into = await engine.http.request('PUT', `/containers/${id}/archive?path=/tools`, {
        body: Buffer.alloc(1024),
      });
      expect(into.status).toBe(403);
      expect((await engine.run(['cat', '/tools/a'], { VolumesFrom: [id] })).stdout).toBe('first\n');
    });

    test.each(['containers.start.image-mount', 'mounts.view', 'containers.start.begun'])(
      'R1: a daemon killed at %s leaves no mount',
      async (point) => {
        const id = await engine.create(['sleep', '1000'], host('opt/tool'));
        engine.daemon.arm(`${point}=sigkill`);
        // A daemon that dies answers nothing.
        await engine.http.request('POST', `/containers/${id}/start`).catch(() => undefined);
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
        expect(mounts()).toEqual([]);
        await engine.http.request('POST', `/containers/${id}/start`);
        expect((await engine.exec(id, ['cat', '/tools/a'])).stdout).toBe('first\n');
      },
    );
  },
  { armable: true },
);
