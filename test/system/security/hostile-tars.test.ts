import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Canary } from '../../support/canary.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { HOSTILE_TARS, orders } from '../../support/images/hostile-tars.ts';
import { jsonLines } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';

const run = promisify(execFile);
const TAR = { 'Content-Type': 'application/x-tar' };
const SECONDS = Number(process.env['BERTH_RACE_SECONDS'] ?? 5);
/** renameat2(2) with RENAME_EXCHANGE again and again; prints how often. */
const SWAPPER = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
a, b, end, count = sys.argv[1].encode(), sys.argv[2].encode(), time.monotonic() + float(sys.argv[3]), 0
while time.monotonic() < end:
    for _ in range(100):
        if libc.renameat2(-100, a, -100, b, 2) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
        count += 1
print(count)
`;

describeEngine('hostile tars', (engine) => {
  let canary: Canary;

  beforeAll(() => {
    canary = new Canary(path.join(engine.daemon.paths.root, 'canary'));
  });
  afterAll(() => {
    canary[Symbol.dispose]();
  });

  const put = async (id: string, folder: string, body: Buffer): Promise<number> => {
    const url = `/containers/${id}/archive?path=${encodeURIComponent(folder)}`;
    return (await engine.http.request('PUT', url, { body, headers: TAR })).status;
  };

  test('class 1: none of them gets out of a container that it is copied into, running or not', async () => {
    const ids = [await engine.start(['sleep', '600']), await engine.create(['sleep', '600'])];
    for (const [index, { title, entries }] of HOSTILE_TARS.entries()) {
      for (const [order, bytes] of orders(entries(canary))) {
        for (const id of ids) {
          const folder = `/tmp/${index}-${order.replaceAll(' ', '-')}`;
          await put(id, '/', tar([{ name: `${folder.slice(1)}/` }]));
          const status = await put(id, folder, bytes);
          expect([200, 400, 403, 404, 409, 500], `${title}, ${order}: ${status}`).toContain(status);
          expect(canary.changes(), `${title}, ${order}`).toBeUndefined();
        }
      }
    }
  }, 300_000);

  test('class 1: none of them gets out of the image that a build unpacks it into', async () => {
    for (const { title, entries } of HOSTILE_TARS) {
      const dockerfile = 'FROM busybox\nADD hostile.tar /tmp/\n';
      const [[, bytes] = ['', tar([])]] = orders(entries(canary));
      const body = tar([
        { name: 'Dockerfile', content: dockerfile },
        { name: 'hostile.tar', content: bytes },
      ]);
      const answer = await engine.http.request('POST', '/build?forcerm=1&nocache=1', { body, headers: TAR });
      expect(answer.status, title).toBe(200);
      const failed = (jsonLines(answer.text) as { error?: string }[]).find(
        ({ error }) => error !== undefined,
      );
      expect(failed?.error ?? 'ADD: done', title).toMatch(/^(ADD|layer): /);
      expect(canary.changes(), title).toBeUndefined();
    }
  }, 300_000);

  test.each([
    ['absolute', (folder: string) => folder],
    ['climbing', (folder: string) => `../../../../../../../..${folder}`],
  ])(
    'class 1: a directory swapped with a link (%s) at every moment leads nowhere but inside',
    async (_kind, target) => {
      const script = `mkdir -p /race/dir ${canary.folder}; ln -s ${target(canary.folder)} /race/link; exec sleep 600`;
      const id = await engine.start(['sh', '-c', script]);
      await expect.poll(async () => (await engine.exec(id, ['ls', '/race'])).stdout).toBe('dir\nlink\n');
      const { State } = await engine.inspect(id);
      const root = `/proc/${State?.Pid}/root/race`;
      const until = new AbortController();
      const swapper = ['-c', SWAPPER, `${root}/dir`, `${root}/link`, String(SECONDS)];
      const swapping = run('python3', swapper).finally(() => until.abort());
      const body = tar([
        { name: 'dir/file', content: 'hostile', mode: 0o4777 },
        { name: 'dir/made/deep/', mode: 0o777 },
        { name: 'dir/made/deep/file', content: 'hostile' },
        { name: 'dir/hard', type: '1', linkName: 'dir/file' },
        { name: 'dir/link', type: '2', linkName: '/etc' },
        { name: 'dir/device', type: '3', major: 1, minor: 3 },
      ]);
      const statuses = new Map<number, number>();
      while (!until.signal.aborted) {
        for (const folder of ['/race', '/race/dir']) {
          const status = await put(id, folder, body);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }
      const { stdout } = await swapping;
      expect(Number(stdout)).toBeGreaterThan(1000);
      expect(statuses.get(200) ?? 0).toBeGreaterThan(0);
      expect(canary.changes()).toBeUndefined();
    },
    60_000,
  );
});
