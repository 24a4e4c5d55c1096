import { mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mountsBelow } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';

describeEngine('volumes, binds and tmpfs', (engine) => {
  const scratch = (name: string): string => {
    const folder = `${engine.daemon.paths.root}/${name}`;
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  const dropVolume = (name: string): Promise<unknown> => engine.http.ok('DELETE', `/volumes/${name}?force=1`);

  test('bind: a folder of the host is read and written', async () => {
    const folder = scratch('bound');
    writeFileSync(`${folder}/in`, 'from the host');
    const { stdout } = await engine.run(['sh', '-c', 'cat /bound/in; echo back >/bound/out'], {
      Binds: [`${folder}:/bound`],
    });
    expect([stdout, readFileSync(`${folder}/out`, 'utf8')]).toEqual(['from the host', 'back\n']);
  });

  test('bind: ro keeps writers out', async () => {
    const result = await engine.run(['touch', '/bound/x'], { Binds: [`${scratch('ro')}:/bound:ro`] });
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain('Read-only file system');
  });

  test('bind: a single file', async () => {
    writeFileSync(`${scratch('file')}/one`, 'alone');
    const { stdout } = await engine.run(['cat', '/etc/one'], {
      Binds: [`${scratch('file')}/one:/etc/one`],
    });
    expect(stdout).toBe('alone');
  });

  test('bind: by Mounts a missing source is refused', async () => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: {
        Image: 'busybox',
        HostConfig: { Mounts: [{ Type: 'bind', Source: '/no/such/place', Target: '/x' }] },
      },
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('bind source path does not exist: /no/such/place');
  });

  test.each(['/x:relative', '/x:/y:wrong', '/a:/b:/c:/d', '/x:/', ':/x'])(
    'bind: %s is refused',
    async (bind) => {
      const answer = await engine.http.request('POST', '/containers/create', {
        body: { Image: 'busybox', HostConfig: { Binds: [bind] } },
      });
      // dockerd 20.10 answers 500, later ones 400.
      expect(answer.status).toBe(onReference ? 500 : 400);
    },
  );

  test('volume: keeps what one container wrote for the next', async () => {
    await engine.run(['sh', '-c', 'echo kept >/data/file'], { Binds: ['journal:/data'] });
    const { stdout } = await engine.run(['cat', '/data/file'], { Binds: ['journal:/data'] });
    expect(stdout).toBe('kept\n');
    await engine.removeAll();
    await dropVolume('journal');
  });

  test('volume: in use cannot be removed, and shows in inspect', async () => {
    const id = await engine.create(['true'], { Binds: ['busy:/data'] });
    const answer = await engine.http.request('DELETE', '/volumes/busy');
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('volume is in use')]);
    const { Mounts } = await engine.inspect(id);
    expect(Mounts).toMatchObject([
      { Type: 'volume', Name: 'busy', Destination: '/data', Driver: 'local', RW: true },
    ]);
    await engine.removeAll();
    await dropVolume('busy');
  });

  test('volume: an empty one gets what the image has at that place', async () => {
    const { stdout } = await engine.run(['ls', '/bin/busybox'], { Binds: ['copied:/bin'] });
    expect(stdout).toBe('/bin/busybox\n');
    await engine.removeAll();
    await dropVolume('copied');
  });

  test('volume: create, list, inspect, remove', async () => {
    const created = await engine.http.ok('POST', '/volumes/create', { Name: 'box', Labels: { a: '1' } });
    expect(created).toMatchObject({ Name: 'box', Driver: 'local', Scope: 'local', Labels: { a: '1' } });
    const filters = encodeURIComponent(JSON.stringify({ name: ['box'] }));
    expect(await engine.http.ok('GET', `/volumes?filters=${filters}`)).toMatchObject({
      Volumes: [{ Name: 'box' }],
    });
    expect(await engine.http.ok('GET', '/volumes/box')).toMatchObject({ Name: 'box' });
    expect((await engine.http.request('DELETE', '/volumes/box')).status).toBe(204);
    const answer = await engine.http.request('GET', '/volumes/box');
    expect(answer.status).toBe(404);
  });

  test.each(['../up', '.hidden', 'a/b', 'a'])('volume: the name %j is refused', async (name) => {
    const answer = await engine.http.request('POST', '/volumes/create', { body: { Name: name } });
    expect(answer.status).toBe(400);
  });

  test('tmpfs: is empty, has its options, and is gone at the next start', async () => {
    const id = await engine.start(
      ['sh', '-c', 'ls -A /scratch; echo x >/scratch/f; grep " /scratch " /proc/mounts'],
      { Tmpfs: { '/scratch': 'size=1m,noexec' } },
    );
    await engine.wait(id);
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    const lines = (await engine.logs(id)).stdout.trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^tmpfs \/scratch tmpfs rw,.*noexec.*size=1024k/);
  });

  test('read-only root: refuses writers, while volumes and tmpfs take them', async () => {
    const { stdout, stderr } = await engine.run(
      ['sh', '-c', 'touch /x; touch /scratch/y && touch /dev/shm/z && echo fine'],
      { ReadonlyRootfs: true, Tmpfs: { '/scratch': '' } },
    );
    expect([stdout, stderr]).toEqual(['fine\n', 'touch: /x: Read-only file system\n']);
  });

  test('/dev/shm: has the size asked for', async () => {
    const { stdout } = await engine.run(['df', '-k', '/dev/shm'], { ShmSize: 8 * 1024 * 1024 });
    expect(stdout).toMatch(/\s8192\s/);
  });

  const forever = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.05; done'];
  const sharedMemories = (): string[] =>
    mountsBelow(engine.daemon.paths.dataRoot).filter((path) => path.endsWith('/shm'));

  test('shared memory: what a shareable container writes, one that joins it reads', async () => {
    const donor = await engine.start(forever, { IpcMode: 'shareable', ShmSize: 3 * 1024 * 1024 });
    const guest = await engine.start(forever, { IpcMode: `container:${donor}` });
    await engine.exec(donor, ['sh', '-c', 'umask 0; echo from the donor >/dev/shm/note']);
    const look = [
      'cat /dev/shm/note; readlink /proc/self/ns/ipc; stat -c %a /dev/shm; grep " /dev/shm " /proc/mounts',
    ];
    const seen = await engine.exec(guest, ['sh', '-c', ...look]);
    expect(seen).toEqual(await engine.exec(donor, ['sh', '-c', ...look]));
    expect(seen.stdout).toMatch(
      /^from the donor\nipc:\S+\n1777\nshm \/dev\/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=3072k\b/,
    );
    await engine.http.ok('POST', `/containers/${guest}/stop`);
    await engine.http.ok('POST', `/containers/${donor}/stop`);
    await expect.poll(sharedMemories).toEqual([]);
    const again = await engine.http.request('POST', `/containers/${guest}/start`);
    expect([again.status, again.text]).toEqual([
      // dockerd 20.10 answers 500.
      onReference ? 500 : 409,
      expect.stringContaining(`can't join IPC of container ${donor}: container ${donor} is not running`),
    ]);
    await engine.http.ok('POST', `/containers/${donor}/start`);
    expect((await engine.exec(donor, ['ls', '/dev/shm'])).stdout).toBe('');
  });

  // dockerd ends its containers with itself, and its guests lend nothing once their donor has ended.
  test.runIf(!onReference)('shared memory: lives as long as one that joined it, over a kill -9', async () => {
    const donor = await engine.start(forever, { IpcMode: 'shareable' });
    const guest = await engine.start(forever, { IpcMode: `container:${donor}` });
    await engine.exec(donor, ['sh', '-c', 'echo kept >/dev/shm/note']);
    await engine.daemon.restart();
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    await engine.http.ok('POST', `/containers/${donor}/stop`);
    const { exitCode, stdout } = await engine.run(['cat', '/dev/shm/note'], {
      IpcMode: `container:${guest}`,
    });
    expect([exitCode, stdout]).toEqual([0, 'kept\n']);
    await engine.http.ok('POST', `/containers/${guest}/stop`);
    await expect.poll(sharedMemories).toEqual([]);
  });

  test.each(['private', 'none'])(
    'shared memory: a container with %s lends nobody its own',
    async (IpcMode) => {
      const donor = await engine.start(['sleep', '1000'], { IpcMode });
      const guest = await engine.create(['true'], { IpcMode: `container:${donor}` });
      const answer = await engine.http.request('POST', `/containers/${guest}/start`);
      expect([answer.status, answer.text]).toEqual([
        // dockerd 20.10 answers 500.
        onReference ? 500 : 400,
        expect.stringContaining(`can't join IPC of container ${donor}: non-shareable IPC (hint: `),
      ]);
    },
  );

  test('shared memory: host is the host’s, also for one that joins it', async () => {
    const look = ['sh', '-c', 'readlink /proc/self/ns/ipc; stat -c %d /dev/shm; exec sleep 1000'];
    const facts = `${readlinkSync('/proc/self/ns/ipc')}\n${statSync('/dev/shm').dev}\n`;
    const donor = await engine.start(look, { IpcMode: 'host' });
    const guest = await engine.start(look, { IpcMode: `container:${donor}` });
    await expect.poll(async () => (await engine.logs(donor)).stdout).toBe(facts);
    await expect.poll(async () => (await engine.logs(guest)).stdout).toBe(facts);
  });
});
