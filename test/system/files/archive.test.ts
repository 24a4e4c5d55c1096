import { expect, test } from 'vitest';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { COMPRESSORS, compressed } from '../../support/images/compressors.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import type { Answer } from '../../support/engine/http.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';
import { namesIn, untar } from '../../support/images/untar.ts';
import { untilNow } from '../../support/engine/until-now.ts';

const TAR = { 'Content-Type': 'application/x-tar' };
const TREE =
  'mkdir -p /d/sub && echo hi > /d/f && chmod 4755 /d/f && ln -s f /d/lf && ln -s /d /ld && ln -s /nope /dang &&' +
  ' mkfifo /d/p && ln /d/f /d/hard && chown 7:8 /d/sub && ln -s /run /var/run; mkdir -p /run; touch /ready';

interface Stat {
  name: string;
  size: number;
  mode: number;
  mtime: string;
  linkTarget: string;
}

describeEngine('archive', (engine) => {
  /** A container with files, running or ended. */
  const makeTree = async (state: 'running' | 'exited', host: HostConfig = {}): Promise<string> => {
    const end = state === 'running' ? '; exec sleep 600' : '';
    const id = await engine.start(['sh', '-c', `${TREE}${end}`], host);
    if (state === 'exited') {
      await engine.wait(id);
    } else {
      await expect.poll(async () => (await get(engine, id, '/ready')).status).toBe(200);
    }
    return id;
  };

  test.each(['running', 'exited'] as const)('the stat header tells what a path is (%s)', async (state) => {
    const id = await makeTree(state);
    const told = async (path: string): Promise<unknown> => {
      const { status, headers } = await engine.http.request('HEAD', url(id, path));
      const stat = statOf(headers);
      return stat === undefined ? status : [stat.name, stat.mode, stat.linkTarget];
    };
    const directory = 2 ** 31 + 0o755;
    const link = 2 ** 27 + 0o777;
    expect(await told('/')).toEqual(['/', directory, '']);
    expect(await told('/d')).toEqual(['d', directory, '']);
    expect(await told('d/')).toEqual(['d', directory, '']);
    expect(await told('/d/.')).toEqual(['.', directory, '']);
    expect(await told('/ld')).toEqual(['ld', link, '/d']);
    expect(await told('/ld/')).toEqual(['ld', directory, '']);
    expect(await told('/d/lf')).toEqual(['lf', link, '/d/f']);
    expect(await told('/dang')).toEqual(['dang', link, '/nope']);
    expect(await told('/d/f')).toEqual(['f', 2 ** 23 + 0o755, '']);
    expect(await told('/d/p')).toEqual(['p', 2 ** 25 + 0o644, '']);
    expect(await told('/../../etc/../d')).toEqual(['d', directory, '']);
    expect(await told('/nope')).toBe(404);
    expect(await told('/nope/x')).toBe(404);
    expect(await told('')).toBe(400);
    const { headers } = await engine.http.request('GET', url(id, '/d/f'));
    expect(statOf(headers)).toMatchObject({ name: 'f', size: 3 });
    expect(statOf(headers)?.mtime).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });

  test.each(['running', 'exited'] as const)(
    'get: names begin with what was asked for (%s)',
    async (state) => {
      const id = await makeTree(state);
      const names = async (path: string): Promise<string[]> => namesIn((await get(engine, id, path)).bytes);
      const below = ['f', 'hard', 'lf', 'p', 'sub/'];
      expect(await names('/d')).toEqual(['d/', ...below.map((name) => `d/${name}`)]);
      expect(await names('/d/')).toEqual(['d/', ...below.map((name) => `d/${name}`)]);
      expect(await names('/d/.')).toEqual(['./', ...below.map((name) => `./${name}`)]);
      expect(await names('/ld/')).toEqual(['ld/', ...below.map((name) => `ld/${name}`)]);
      expect(await names('/ld')).toEqual(['ld']);
      expect(await names('/d/f')).toEqual(['f']);
      const all = await names('/');
      expect(all[0]).toBe('/');
      expect(all).toEqual(expect.arrayContaining(['/d/f', '/bin/busybox', '/proc/']));
      expect(all.filter((name) => /^\/(proc|sys)\/./.test(name))).toEqual([]);
    },
  );

  test.runIf(!onReference)('get: types, owners, modes and links are those of the files', async () => {
    const id = await makeTree('exited');
    const members = untar((await get(engine, id, '/d')).bytes);
    expect(
      members.map(({ name, type, mode, uid, gid, linkName, content }) => [
        name,
        type,
        mode.toString(8),
        `${uid}:${gid}`,
        linkName + content.toString(),
      ]),
    ).toEqual([
      ['d/', 'directory', '755', '0:0', ''],
      ['d/f', 'file', '4755', '0:0', 'hi\n'],
      ['d/hard', 'link', '4755', '0:0', 'd/f'],
      ['d/lf', 'symlink', '777', '0:0', 'f'],
      ['d/p', 'fifo', '644', '0:0', ''],
      ['d/sub/', 'directory', '755', '7:8', ''],
    ]);
  });

  test.runIf(!onReference).each(['running', 'exited'] as const)(
    'put: a tar of everything arrives as it is (%s)',
    async (state) => {
      const id = await makeTree(state);
      const entries: TarEntry[] = [
        { name: 'new/', mode: 0o2750, uid: 5, gid: 6, mtime: 1_000_000_000 },
        { name: 'new/file', content: 'content', mode: 0o4711, uid: 1000, gid: 1001, mtime: 1_100_000_000 },
        { name: 'new/long'.padEnd(180, 'x'), content: 'y' },
        { name: 'new/link', type: '2', linkName: '../../outside' },
        { name: 'new/hard', type: '1', linkName: 'new/file' },
        { name: 'new/device', type: '3', major: 1, minor: 3, mode: 0o666 },
        { name: 'new/fifo', type: '6', mode: 0o600 },
        { name: 'implied/deep/file', content: 'z' },
        { name: 'new/capable', content: 'c', pax: { 'SCHILY.xattr.security.capability': CAPABILITY } },
        { name: 'f', content: 'replaced' },
      ];
      expect(await put(engine, id, '/d', tar(entries))).toMatchObject({ status: 200, text: '' });
      const members = untar((await get(engine, id, '/d')).bytes);
      const found = new Map(members.map((member) => [member.name, member]));
      expect(found.get('d/new/')).toMatchObject({ mode: 0o2750, uid: 5, gid: 6, mtime: { seconds: 1e9 } });
      expect(found.get('d/new/file')).toMatchObject({ mode: 0o4711, uid: 1000, mtime: { seconds: 11e8 } });
      expect(found.get('d/new/link')?.linkName).toBe('../../outside');
      expect(found.get('d/new/hard')).toMatchObject({ type: 'link', linkName: 'd/new/file' });
      expect(found.get('d/new/device')).toMatchObject({ type: 'character', major: 1, minor: 3, mode: 0o666 });
      expect(found.get('d/new/fifo')).toMatchObject({ type: 'fifo', mode: 0o600 });
      expect(found.get('d/implied/deep/')).toMatchObject({ mode: 0o755, uid: 0 });
      expect(found.get('d/new/capable')?.attributes.get('security.capability')).toEqual(CAPABILITY);
      expect(found.get(`d/${'new/long'.padEnd(180, 'x')}`)?.content.toString()).toBe('y');
      // The hard link keeps the old file.
      expect(found.get('d/f')?.content.toString()).toBe('replaced');
      expect(found.get('d/hard')?.content.toString()).toBe('hi\n');
    },
  );

  test.runIf(!onReference)('put: a tar may be compressed', async () => {
    const id = await makeTree('running');
    for (const name of COMPRESSORS) {
      const body = compressed(name, tar([{ name: `by-${name}`, content: name }]));
      expect(await put(engine, id, '/d', body)).toMatchObject({ status: 200, text: '' });
      expect(untar((await get(engine, id, `/d/by-${name}`)).bytes)[0]?.content.toString()).toBe(name);
      const cut = body.subarray(0, body.length - 12);
      expect(await put(engine, id, '/d', cut)).toMatchObject({ status: 400 });
    }
  });

  test('put: volumes, binds and links are those of the container, running or not', async () => {
    const host = { Binds: ['files:/vol', 'files:/ro:ro'], Tmpfs: { '/tmpfs': '' } };
    const id = await makeTree('running', host);
    for (const step of ['running', 'stopped']) {
      const body = tar([{ name: step, content: step }]);
      expect(await put(engine, id, '/vol', body)).toMatchObject({ status: 200 });
      expect(await put(engine, id, '/var/run', body)).toMatchObject({ status: 200 });
      expect(namesIn((await get(engine, id, `/run/${step}`)).bytes)).toEqual([step]);
      expect(namesIn((await get(engine, id, '/ro')).bytes)).toContain(`ro/${step}`);
      expect(await put(engine, id, '/ro', body)).toMatchObject({
        status: onReference ? 500 : 403,
        text: expect.stringContaining('mounted volume is marked read-only'),
      });
      await engine.http.request('POST', `/containers/${id}/stop?t=0`);
    }
    const { stdout } = await engine.run(['ls', '/vol'], { Binds: ['files:/vol'] });
    expect(stdout).toBe('running\nstopped\n');
    const root = await engine.start(['sleep', '600'], { ReadonlyRootfs: true });
    expect(await put(engine, root, '/tmp', tar([]))).toMatchObject({
      status: onReference ? 500 : 403,
      text: expect.stringContaining('container rootfs is marked read-only'),
    });
  });

  test.runIf(!onReference)('put: a tmpfs of a running container takes files', async () => {
    const id = await engine.start(['sleep', '600'], { Tmpfs: { '/tmpfs': '' } });
    await put(engine, id, '/tmpfs', tar([{ name: 'x', content: 'y' }]));
    expect((await engine.exec(id, ['cat', '/tmpfs/x'])).stdout).toBe('y');
    expect(namesIn((await get(engine, id, '/tmpfs')).bytes)).toEqual(['tmpfs/', 'tmpfs/x']);
  });

  test('put: a container that never ran keeps what is copied, also in a volume the image fills', async () => {
    const id = await engine.create(['sh', '-c', 'cat /etc/passwd /etc/new /a/b/c/new'], {
      Binds: ['filled:/etc', 'deep:/a/b/c'],
    });
    expect(await put(engine, id, '/etc', tar([{ name: 'new', content: 'one\n' }]))).toMatchObject({
      status: 200,
    });
    expect(await put(engine, id, '/a/b/c', tar([{ name: 'new', content: 'two\n' }]))).toMatchObject({
      status: 200,
    });
    expect(namesIn((await get(engine, id, '/a/')).bytes)).toEqual(['a/', 'a/b/', 'a/b/c/', 'a/b/c/new']);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect(await engine.wait(id)).toBe(0);
    expect((await engine.logs(id)).stdout).toMatch(/^root:[^]*one\ntwo\n$/);
  });

  test.runIf(!onReference)('put: kinds are kept when asked for, and replaced when not', async () => {
    const id = await makeTree('exited');
    const file = tar([{ name: 'sub', content: 'file' }]);
    const directory = tar([{ name: 'f/' }]);
    const keep = '&noOverwriteDirNonDir=true';
    expect(await put(engine, id, '/d', file, keep)).toMatchObject({
      status: 400,
      text: expect.stringContaining(String.raw`cannot overwrite directory \"/d/sub\" with non-directory`),
    });
    expect(await put(engine, id, '/d', directory, keep)).toMatchObject({
      status: 400,
      text: expect.stringContaining(String.raw`cannot overwrite non-directory \"/d/f\" with directory`),
    });
    expect(await put(engine, id, '/d', file)).toMatchObject({ status: 200 });
    expect(await put(engine, id, '/d', directory)).toMatchObject({ status: 200 });
    expect(namesIn((await get(engine, id, '/d/.')).bytes)).toEqual([
      './',
      './f/',
      './hard',
      './lf',
      './p',
      './sub',
    ]);
  });

  test.runIf(!onReference)('put: with copyUIDGID files belong to the container’s user', async () => {
    const id = await engine.create(['true'], {}, { User: 'www:0' });
    await put(engine, id, '/etc', tar([{ name: 'passwd', content: 'www:x:33:33::/:/bin/sh\n' }]));
    const body = tar([{ name: 'x/y', content: '', uid: 1000, gid: 1000 }]);
    await put(engine, id, '/tmp', body, '&copyUIDGID=1');
    const members = untar((await get(engine, id, '/tmp/x')).bytes);
    expect(members.map(({ uid, gid }) => `${uid}:${gid}`)).toEqual(['33:0', '33:0']);
  });

  test('put: where nothing can be put, the answer says why', async () => {
    const id = await makeTree('running');
    const body = tar([{ name: 'hosts', content: 'x' }]);
    const answers = [
      await put(engine, id, '/d/f', body),
      await put(engine, id, '/nope', body),
      await put(engine, id, '', body),
      await put(engine, id, '/etc', body),
      await put(engine, 'nobody', '/', body),
    ];
    expect(answers.map(({ status }) => status)).toEqual(
      onReference ? [500, 404, 400, 500, 404] : [400, 404, 400, 409, 404],
    );
    const texts = answers.map(({ text }) => text).join('\n');
    expect(texts).toContain('extraction point is not a directory');
    expect(texts).toContain(`Could not find the file /nope in container ${id}`);
    expect(texts).toContain('device or resource busy');
    expect(texts).toContain('No such container: nobody');
    // It is still mounted.
    expect((await engine.exec(id, ['cat', '/etc/hosts'])).stdout).toContain('localhost');
  });

  test('events tell of files that were copied', async () => {
    const since = Date.now() / 1000;
    const id = await engine.create(['true']);
    await get(engine, id, '/etc');
    await put(engine, id, '/etc', tar([]));
    await engine.http.request('GET', `/containers/${id}/export`);
    const { text } = await engine.http.request('GET', `/events?since=${since}&until=${untilNow()}`);
    const actions = text
      .split('\n')
      .filter(Boolean)
      .map((line): unknown => JSON.parse(line).Action);
    expect(actions).toEqual(['create', 'archive-path', 'extract-to-dir', 'export']);
  });
});

/** cap_net_bind_service=ep, version 2. */
const CAPABILITY = Buffer.from('0100000200040000000000000000000000000000', 'hex');

function url(id: string, path: string, more = ''): string {
  return `/containers/${id}/archive?path=${encodeURIComponent(path)}${more}`;
}

function get(engine: Engine, id: string, path: string): Promise<Answer> {
  return engine.http.request('GET', url(id, path));
}

function put(engine: Engine, id: string, path: string, body: Buffer, more?: string): Promise<Answer> {
  return engine.http.request('PUT', url(id, path, more), { body, headers: TAR });
}

function statOf(headers: Answer['headers']): Stat | undefined {
  const value = headers['x-docker-container-path-stat'];
  return value === undefined ? undefined : JSON.parse(Buffer.from(String(value), 'base64').toString());
}
