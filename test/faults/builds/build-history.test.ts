import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ControlClient } from '../../support/buildkit/control-client.ts';
import { HistoryClient } from '../../support/buildkit/history-client.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needs } from '../../support/needs.ts';

needs(
  'root',
  'built',
  'netns',
)('the history of builds', () => {
  let daemon: TestDaemon;
  let server: SessionServer;

  beforeAll(async () => {
    daemon = await TestDaemon.start({
      armable: true,
      config: { builder: { history: { maxEntries: 1, maxAge: 0 } } },
    });
    await daemon.loadBusybox();
    const folder = `${daemon.paths.root}/session`;
    mkdirSync(folder);
    server = new SessionServer(folder);
    const content = Buffer.from('FROM busybox\n');
    server.list = [{ stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content }];
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });

  const build = async (ref: string): Promise<string> => {
    using client = new ControlClient(daemon.paths.socket);
    return await client.build(server, [{ type: 'moby' }], {}, { ref }).then(
      () => '',
      (error: Error) => error.message,
    );
  };
  /** Each with the bytes of its log. */
  const known = async (): Promise<[ref: string, bytes: number][]> => {
    using client = new ControlClient(daemon.paths.socket);
    const history = new HistoryClient(client);
    const { records } = await history.list();
    return await Promise.all(
      records.map(
        async ({ ref, logs }) => [ref, (await history.content(logs?.digest ?? '')).length] as const,
      ),
    ).then((all) => all.map(([ref, bytes]) => [ref, bytes]));
  };
  const refs = async (): Promise<string[]> => (await known()).map(([ref]) => ref);

  it.each([
    'build.history.put',
    'database.buildhistory.insert',
    'build.history.prune',
    'database.buildhistory.remove',
  ])('R1: kill -9 at %s: a build is remembered whole, or not at all', async (point) => {
    expect(await build('before')).toBe('');
    daemon.arm(`${point}=sigkill`);
    await build('killed');
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    for (const [, bytes] of await known()) {
      expect(bytes).toBeGreaterThan(0);
    }
    expect(await build('after')).toBe('');
    expect(await refs()).toEqual(['after']);
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  });

  it.each(['build.history.put', 'database.buildhistory.insert'])(
    '%s fails: the build is well all the same, and is not remembered',
    async (point) => {
      expect(await build('before')).toBe('');
      daemon.arm(`${point}=error(told by a test)`);
      expect(await build('lost')).toBe('');
      daemon.arm('');
      expect(await refs()).toEqual(['before']);
      expect(daemon.log()).toContain('a build is not remembered');
    },
  );

  it('database.buildhistory.pin fails: the client is told so, and nothing is pinned', async () => {
    expect(await build('one')).toBe('');
    using client = new ControlClient(daemon.paths.socket);
    const history = new HistoryClient(client);
    daemon.arm('database.buildhistory.pin=error(told by a test)');
    await expect(history.update({ ref: 'one', pinned: true })).rejects.toThrow('told by a test');
    daemon.arm('');
    const { records } = await history.list({ ref: 'one' });
    expect(records.map(({ pinned }) => pinned)).toEqual([false]);
  });

  it('R1: kill -9 in the middle of a build: it never was', async () => {
    daemon.arm('build.solver.store=sigkill');
    const content = Buffer.from('FROM busybox\nRUN echo one >/x\n');
    server.list = [{ stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content }];
    await build('half');
    await daemon.ended();
    daemon.arm('');
    await daemon.up();
    expect(await refs()).not.toContain('half');
    await expect.poll(() => differences(daemon), { timeout: 30_000 }).toEqual([]);
  });
});
