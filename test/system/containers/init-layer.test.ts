import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { busyboxEntries, imageTar } from '../../support/images/images.ts';
import { untar } from '../../support/images/untar.ts';

/** Type, mode, size and target of each member, by its name. */
function membersOf(bytes: Buffer): Record<string, string> {
  return Object.fromEntries(
    untar(bytes).map(({ name, type, mode, size, linkName }) => [
      name.replace(/\/$/, ''),
      [type, (mode & 0o7777).toString(8), size, ...(linkName ? [linkName] : [])].join(' '),
    ]),
  );
}

/** What every container has that its image lacks: places to mount at, `/.dockerenv`, `/etc/mtab`. */
describeEngine('the init layer', (engine) => {
  const INIT: Readonly<Record<string, string>> = {
    '.dockerenv': 'file 755 0',
    dev: 'directory 755 0',
    'dev/console': 'file 755 0',
    'dev/pts': 'directory 755 0',
    'dev/shm': 'directory 755 0',
    'etc/hostname': 'file 755 0',
    'etc/hosts': 'file 755 0',
    'etc/mtab': 'symlink 777 0 /proc/mounts',
    'etc/resolv.conf': 'file 755 0',
    proc: 'directory 755 0',
    sys: 'directory 755 0',
  };

  const exported = async (id: string): Promise<Record<string, string>> =>
    membersOf((await engine.http.request('GET', `/containers/${id}/export`)).bytes);
  const changes = (id: string): Promise<unknown> => engine.http.ok('GET', `/containers/${id}/changes`);

  test('export and cp: show it in a container that was never started, diff does not', async () => {
    const id = await engine.create(['true']);
    expect(await exported(id)).toMatchObject(INIT);
    const { bytes } = await engine.http.request('GET', `/containers/${id}/archive?path=/etc`);
    expect(membersOf(bytes)).toMatchObject({
      'etc/mtab': 'symlink 777 0 /proc/mounts',
      'etc/resolv.conf': 'file 755 0',
    });
    expect(await changes(id)).toEqual(onReference ? null : []);
  });

  test('a container that ran: has it too, and neither diff nor commit tell of it', async () => {
    const { id, stdout } = await engine.run([
      'sh',
      '-c',
      'ls -a / | grep dockerenv; readlink /etc/mtab; grep -c " / " /etc/mtab; touch /new',
    ]);
    expect(stdout).toBe('.dockerenv\n/proc/mounts\n1\n');
    expect(await exported(id)).toMatchObject(INIT);
    expect(await changes(id)).toEqual([{ Path: '/new', Kind: 1 }]);
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/commit?container=${id}`);
    const { bytes } = await engine.http.request('GET', `/images/${Id}/get`);
    const layers = untar(bytes)
      .filter(({ name }) => /layer\.tar$|^blobs\//.test(name))
      .map(({ content }) => content)
      .filter((content) => content.subarray(257, 262).toString() === 'ustar')
      .map((content) => Object.keys(membersOf(content)));
    expect(layers).toContainEqual(['new']);
    await engine.removeAll();
    await engine.removeImages();
  });

  test('what the image has in its place: files and links give way, directories keep their files', async () => {
    const image = imageTar(
      [
        [
          ...busyboxEntries().filter(({ name }) => !/^(?:etc|dev)\b/.test(String(name))),
          { name: 'etc/', type: '5', mode: 0o750 },
          { name: 'etc/hosts', content: 'of the image' },
          { name: 'etc/resolv.conf', type: '2', linkName: '../run/elsewhere' },
          { name: 'etc/mtab', content: 'old' },
          { name: 'dev/', type: '5', mode: 0o755 },
          { name: 'dev/own', content: 'own' },
        ],
      ],
      { tags: ['taken:latest'], config: { Cmd: ['sh'] } },
    );
    await engine.http.ok('POST', '/images/load?quiet=1', image);
    const id = await engine.create(['sleep', '1000'], {}, { Image: 'taken:latest' });
    const members = await exported(id);
    expect(members).toMatchObject({
      etc: 'directory 750 0',
      'etc/hosts': 'file 755 0',
      'etc/resolv.conf': 'file 755 0',
      'etc/mtab': 'symlink 777 0 /proc/mounts',
      'dev/own': expect.stringMatching(/^file \d+ 3$/),
      'dev/console': 'file 755 0',
    });
    expect(await changes(id)).toEqual(onReference ? null : []);
    await engine.removeAll();
    await engine.removeImages();
  });

  test('create: makes the working directory, which diff tells of, and refuses what is none', async () => {
    const id = await engine.create(['pwd'], {}, { WorkingDir: '/a/b' });
    expect(await changes(id)).toEqual([
      { Path: '/a', Kind: 1 },
      { Path: '/a/b', Kind: 1 },
    ]);
    const put = {
      body: (await engine.http.request('GET', `/containers/${id}/archive?path=/.dockerenv`)).bytes,
    };
    expect((await engine.http.request('PUT', `/containers/${id}/archive?path=/a/b`, put)).status).toBe(200);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect(await engine.wait(id)).toBe(0);
    expect((await engine.logs(id)).stdout).toBe('/a/b\n');
    for (const WorkingDir of ['/bin/sh', '/bin/sh/x']) {
      const { status, text } = await engine.http.request('POST', '/containers/create', {
        body: { Image: 'busybox:latest', Cmd: ['true'], WorkingDir },
      });
      expect([status, text]).toEqual([onReference ? 500 : 400, expect.stringContaining('not a directory')]);
    }
    // Of those that are there nothing is made.
    const there = await engine.create(['pwd'], {}, { WorkingDir: '/tmp/../etc' });
    expect(await changes(there)).toEqual(onReference ? null : []);
  });
});
