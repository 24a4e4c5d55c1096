import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { busyboxEntries, imageTar } from '../../support/images/images.ts';
import { processFile, processLink } from '../../support/process.ts';
import type { TarEntry } from '../../support/images/tar.ts';

const CANARY = 'only the host may read this';
const SLEEP = ['sleep', '600'];

/** What a process holds open, seen from the host: the number and the kind of thing behind it. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map(
    (fd) => `${fd} ${processLink(pid, `fd/${fd}`).replace(/:\[\d+\]$|\/\d+$/, '')}`,
  );
}

/** A busybox image whose entries of these names are others. */
async function load(engine: Engine, tag: string, entries: TarEntry[], config: object = {}): Promise<void> {
  const names = new Set(entries.map(({ name }) => String(name).replace(/\/$/, '')));
  const base = busyboxEntries().filter(({ name }) => !names.has(String(name).replace(/\/$/, '')));
  const image = imageTar([[...base, ...entries]], { tags: [tag], config: { Cmd: ['sh'], ...config } });
  await engine.http.ok('POST', '/images/load?quiet=1', image);
}

/** Where the engine has mounted something on the host. */
function ownMounts({ daemon }: Engine): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((place) => place.includes(daemon.name));
}

/** Where on the host the canary lies, and whether it still says what it said. */
function canaryOf(engine: Engine): string {
  const file = path.join(engine.daemon.paths.root, 'canary');
  writeFileSync(file, CANARY);
  return file;
}

describeEngine('runtime escape', (engine) => {
  test('class 3: a container has descriptors 0, 1 and 2 only, with pipes, a terminal and none', async () => {
    const hosts = [{}, { Tty: true }, { OpenStdin: true }, { OpenStdin: true, Tty: true }];
    for (const more of hosts) {
      const { State } = await engine.inspect(await engine.start(SLEEP, {}, more));
      await until('the container to be sleep', () => processFile(State.Pid, 'comm') === 'sleep\n');
      const found = descriptorsOf(State.Pid);
      expect(found.map((line) => line.split(' ')[0])).toEqual(['0', '1', '2']);
      expect(found.filter((line) => !/ (\/dev\/null|\/dev\/pts|pipe)$/.test(line))).toEqual([]);
    }
  });

  test('class 3: an exec has descriptors 0, 1 and 2 only, attached, detached and with a terminal', async () => {
    const id = await engine.start(SLEEP);
    for (const [more, Detach] of [
      [{ AttachStdout: true, AttachStderr: true }, false],
      [{ AttachStdin: true, AttachStdout: true }, false],
      [{ AttachStdin: true, AttachStdout: true, Tty: true }, false],
      [{}, true],
    ] as const) {
      const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
        Cmd: SLEEP,
        ...more,
      });
      const body = { Detach, Tty: 'Tty' in more };
      const stream = Detach ? undefined : await engine.http.hijack(`/exec/${Id}/start`, { body });
      if (Detach) {
        await engine.http.ok('POST', `/exec/${Id}/start`, body);
      }
      let pid = 0;
      await until('the exec to be sleep', async () => {
        pid = (await engine.http.ok<{ Pid: number }>('GET', `/exec/${Id}/json`)).Pid;
        return processFile(pid, 'comm') === 'sleep\n';
      });
      expect(descriptorsOf(pid).map((line) => line.split(' ')[0])).toEqual(['0', '1', '2']);
      stream?.socket.destroy();
    }
  });

  test('class 3: a working directory behind a descriptor of the runtime does not show the host', async () => {
    const canary = canaryOf(engine);
    const folders = Array.from({ length: 18 }, (_, index) => `/proc/self/fd/${index + 3}`);
    await load(
      engine,
      'links:1',
      folders.map((target, index) => ({
        name: `link${index + 3}`,
        type: '2',
        linkName: target,
        mode: 0o777,
      })),
    );
    const places = [...folders, ...folders.map((_, index) => `/link${index + 3}`)];
    const look = ['sh', '-c', `cat ${canary} ../../../../../..${canary} 2>/dev/null; ls -a . .. | cat`];
    for (const WorkingDir of places) {
      const body = { Image: 'links:1', Cmd: look, WorkingDir, HostConfig: { NetworkMode: 'none' } };
      const created = await engine.http.request('POST', '/containers/create', { body });
      if (created.status !== 201) {
        expect([WorkingDir, created.status]).toEqual([WorkingDir, 400]);
        continue;
      }
      const { Id } = JSON.parse(created.text);
      const started = await engine.http.request('POST', `/containers/${Id}/start`);
      if (started.status === 204) {
        await engine.wait(Id);
        const { stdout } = await engine.logs(Id);
        expect([WorkingDir, stdout]).toEqual([WorkingDir, expect.not.stringContaining(CANARY)]);
        expect(stdout).not.toContain('berth-test');
      }
      await engine.remove(Id);
    }
    const id = await engine.start(SLEEP, {}, { Image: 'links:1' });
    for (const WorkingDir of places) {
      const answer = await engine.http.request('POST', `/containers/${id}/exec`, {
        body: { Cmd: look, AttachStdout: true, WorkingDir },
      });
      if (answer.status !== 201) {
        expect([WorkingDir, answer.status]).toEqual([WorkingDir, 400]);
        continue;
      }
      const start = await engine.http.request('POST', `/exec/${JSON.parse(answer.text).Id}/start`, {
        body: {},
      });
      expect([WorkingDir, start.text]).toEqual([
        WorkingDir,
        expect.not.stringMatching(/berth-test|only the host/),
      ]);
    }
  });

  test.each([
    [
      'a link to a folder of the image',
      (): TarEntry => ({ name: '', type: '2', linkName: '/evil', mode: 0o777 }),
    ],
    [
      'a link out of the image',
      (): TarEntry => ({ name: '', type: '2', linkName: '../../../../../tmp', mode: 0o777 }),
    ],
    ['a link to itself', (): TarEntry => ({ name: '', type: '2', linkName: '/proc', mode: 0o777 })],
    ['a file', (): TarEntry => ({ name: '', content: 'no folder' })],
    ['a FIFO', (): TarEntry => ({ name: '', type: '6' })],
  ])(
    'class 3: an image where /proc, /dev or /sys is %s changes nothing on the host',
    async (_what, entry) => {
      const canary = canaryOf(engine);
      const before = ownMounts(engine);
      for (const place of ['proc', 'dev', 'sys']) {
        const tag = `odd-${place}:1`;
        await load(engine, tag, [
          { name: 'evil/', type: '5', mode: 0o755 },
          { name: 'evil/self', type: '2', linkName: '/etc', mode: 0o777 },
          { ...entry(), name: place },
        ]);
        const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create', {
          Image: tag,
          Cmd: [
            'sh',
            '-c',
            'echo 1 >/dev/console; grep -c . /proc/self/mountinfo; ls /proc/1/ns | grep -c .',
          ],
          Tty: true,
          HostConfig: { NetworkMode: 'none' },
        });
        const started = await engine.http.request('POST', `/containers/${Id}/start`);
        if (started.status === 204) {
          await engine.wait(Id);
        } else {
          expect(started.json).toMatchObject({ message: expect.stringMatching(/./) });
        }
        expect((await engine.inspect(Id)).State.Running).toBe(false);
        await engine.remove(Id);
        expect(readFileSync(canary, 'utf8')).toBe(CANARY);
        await engine.http.ok('DELETE', `/images/${tag}?force=1`);
      }
      await expect.poll(() => ownMounts(engine)).toEqual(before);
    },
  );

  test('class 3: the console of a terminal is its own, whatever the image has at /dev/console', async () => {
    const canary = canaryOf(engine);
    await load(engine, 'console:1', [
      { name: 'dev/console', type: '2', linkName: canary, mode: 0o777 },
      { name: 'dev/ptmx', type: '2', linkName: canary, mode: 0o777 },
      { name: 'dev/pts', type: '2', linkName: path.dirname(canary), mode: 0o777 },
    ]);
    const { stdout } = await engine.run(
      ['sh', '-c', 'echo overwritten >/dev/console; tty; ls -l /dev/console'],
      {},
      { Image: 'console:1', Tty: false },
    );
    expect(stdout).not.toContain(canary);
    const id = await engine.start(
      ['sh', '-c', 'echo overwritten >/dev/console; exec sleep 600'],
      {},
      { Image: 'console:1', Tty: true },
    );
    await until('the write', async () => {
      const { text } = await engine.http.request('GET', `/containers/${id}/logs?stdout=1`);
      return text.includes('overwritten');
    });
    expect(readFileSync(canary, 'utf8')).toBe(CANARY);
  });

  test.runIf(!onReference).each([
    [{ 'kernel.panic': '1' }, {}],
    [{ 'vm.swappiness': '1' }, {}],
    [{ 'fs.file-max': '1' }, {}],
    [{ 'kernel.core_pattern': '|/tmp/x' }, {}],
    [{ 'net.ipv4.ip_forward': '0' }, { NetworkMode: 'host' }],
    [{ 'kernel.shm_rmid_forced': '1' }, { IpcMode: 'host' }],
    [{ 'kernel.hostname': 'x' }, { UTSMode: 'host' }],
    [{ '../kernel/panic': '1' }, {}],
    [{ 'net/../kernel/panic': '1' }, {}],
    [{ 'net.ipv4/../../kernel/panic': '1' }, {}],
    [{ 'net..kernel': '1' }, {}],
    [{ 'net.ipv4.ip_forward\0': '1' }, {}],
    [{ __proto__x: '1' }, {}],
    [{ '': '1' }, {}],
  ])('class 3: the sysctl %o is refused with %o', async (Sysctls, host) => {
    const body = { Image: 'busybox', HostConfig: { NetworkMode: 'none', Sysctls, ...host } };
    const answer = await engine.http.request('POST', '/containers/create', { body });
    expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/sysctl|NUL/i)]);
  });
});
