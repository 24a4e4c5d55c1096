import { existsSync, readdirSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';

/** What leaks from the host or gives power over it. Written down here again: the engine's list is what is tested. */
const MASKED = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
  ...readdirSync('/sys/devices/system/cpu')
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => `/sys/devices/system/cpu/${name}/thermal_throttle`),
];
const READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Those that this kernel has: a mask over nothing cannot be seen. */
const here = (paths: readonly string[]): string[] => paths.filter((path) => existsSync(path));

/**
 * Names the files below /proc (but those of processes) and /sys that the kernel would take writes to and that open for
 * it, and the folders that take another one; nothing is written.
 */
const WRITABLE = `
  find /proc /sys -xdev -type f -perm /222 ! -path '/proc/[0-9]*' 2>/dev/null | while read -r file; do
    ( : >>"$file" ) 2>/dev/null && echo "$file"
  done
  find /proc /sys -mindepth 1 -maxdepth 3 -type d ! -path '/proc/[0-9]*' 2>/dev/null | while read -r folder; do
    mkdir "$folder/made-by-a-test" 2>/dev/null && echo "$folder/"
  done
  echo end`;

describeEngine('kernel files', (engine) => {
  test('class 4: a masked path says nothing and takes nothing', async () => {
    const script = here(MASKED)
      .map((path) =>
        statSync(path).isDirectory()
          ? `[ -z "$(ls -A ${path})" ] || echo "${path} has entries"; ${writes(`touch ${path}/x`, path)}`
          : `[ -z "$(head -c 1 ${path} 2>/dev/null)" ] || echo "${path} can be read"`,
      )
      .join('\n');
    for (const more of [{}, { User: '1000' }]) {
      expect(await engine.run(['sh', '-c', `${script}\necho end`], {}, more)).toMatchObject({
        stdout: 'end\n',
      });
    }
    // An exec, and one of root, sees what the container sees.
    const id = await engine.start(['sleep', '600'], {}, { User: '1000' });
    for (const User of ['', '0', '1000']) {
      expect(await engine.exec(id, ['sh', '-c', `${script}\necho end`], { User })).toMatchObject({
        stdout: 'end\n',
      });
    }
  });

  test('class 4: root writes no file of the kernel but those of its own processes and namespaces', async () => {
    const { stdout } = await engine.run(['sh', '-c', WRITABLE]);
    expect(stdout.split('\n').filter((line) => !isHarmless(line))).toEqual(['end', '']);
  });

  test('class 4: a read-only path is read and refuses writers, also below and in an exec', async () => {
    const script = here(READ_ONLY)
      .map((path) =>
        statSync(path).isDirectory()
          ? `ls ${path} >/dev/null || echo "${path} cannot be listed"; ${writes(`mkdir ${path}/x`, path)}`
          : writes(`( : >>${path} )`, path),
      )
      .join('\n');
    const more = 'echo 0 2>/dev/null >/proc/sys/kernel/panic && echo "panic"; cat /proc/sys/kernel/ostype';
    expect(await engine.run(['sh', '-c', `${script}\n${more}`])).toMatchObject({ stdout: 'Linux\n' });
    const id = await engine.start(['sleep', '600']);
    expect(await engine.exec(id, ['sh', '-c', `${script}\n${more}`])).toMatchObject({ stdout: 'Linux\n' });
  });

  test('class 4: masks cannot be taken off or mounted over from within', async () => {
    const tries = [
      'umount /proc/kcore',
      'umount -l /proc/sys',
      'mount -o remount,rw /proc/sys',
      'mount -t proc proc /tmp',
      'mount -t sysfs sysfs /tmp',
      'mount --bind /proc /tmp',
      'unshare -m true',
      'unshare -U true',
    ];
    const { stdout } = await engine.run([
      'sh',
      '-c',
      tries.map((line) => `${line} 2>/dev/null && echo "${line}"`).join('\n'),
    ]);
    expect(stdout).toBe('');
  });

  test('class 4: privileged and systempaths=unconfined take the masks away, and nothing else does', async () => {
    const masks = await maskCount(engine, {});
    expect(masks).toBeGreaterThan(here(READ_ONLY).length);
    expect(await maskCount(engine, { CapAdd: ['ALL'] })).toBe(masks);
    expect(await maskCount(engine, { SecurityOpt: ['seccomp=unconfined'] })).toBe(masks);
    expect(await maskCount(engine, { SecurityOpt: ['systempaths=unconfined'] })).toBeLessThan(masks);
  });

  test.runIf(!onReference).each([
    ['Binds', { Binds: ['/tmp:/proc/sys'] }],
    ['Binds of a volume', { Binds: ['name:/proc/1'] }],
    ['Binds by way of ..', { Binds: ['/tmp:/tmp/../proc/kcore'] }],
    ['Binds with doubled slashes', { Binds: ['/tmp://proc//irq'] }],
    ['Mounts bind', { Mounts: [{ Type: 'bind', Source: '/tmp', Target: '/proc/fs' }] }],
    ['Mounts volume', { Mounts: [{ Type: 'volume', Target: '/proc/self/ns' }] }],
    ['Mounts tmpfs', { Mounts: [{ Type: 'tmpfs', Target: '/proc/asound' }] }],
    ['Tmpfs', { Tmpfs: { '/proc/scsi': '' } }],
  ])('class 4: a mount over /proc is refused, by %s', async (_what, host) => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', HostConfig: host },
    });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('is inside /proc')]);
  });

  test.each([
    { Binds: ['/tmp:/proc'] },
    { Tmpfs: { '/proc': '' } },
    { Mounts: [{ Type: 'volume', Target: '/proc' }] },
  ])('class 4: nothing but the kernel’s own becomes /proc: %o', async (host) => {
    const body = { Image: 'busybox', Cmd: ['true'], HostConfig: { NetworkMode: 'none', ...host } };
    const created = await engine.http.request('POST', '/containers/create', { body });
    if (created.status === 201) {
      const { Id } = JSON.parse(created.text);
      const started = await engine.http.request('POST', `/containers/${Id}/start`);
      expect([started.status, started.text]).toEqual([
        expect.toSatisfy((status: number) => status >= 400),
        expect.stringContaining('/proc'),
      ]);
    } else {
      expect(created.status).toBe(400);
    }
  });
});

function writes(command: string, path: string): string {
  return `${command} 2>/dev/null && echo "${path} can be written"`;
}

/** Mounts below /proc and /sys that a container sees. */
async function maskCount(engine: Engine, host: object): Promise<number> {
  const { stdout } = await engine.run(['sh', '-c', 'grep -cE " /(proc|sys)/" /proc/self/mountinfo'], host);
  return Number(stdout);
}

/** Asks for notifications of one's own opening of the file; and what the kernel refuses without CAP_SYS_ADMIN. */
function isHarmless(line: string): boolean {
  return /^\/proc\/(?:pressure\/\w+|mtrr)$/.test(line);
}
