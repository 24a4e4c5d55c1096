import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { needsEngine } from '../../support/needs.ts';

needsEngine('etcd')('a host without etcd', () => {
  test('init: says what is missing, leaves nothing, and works once it is there', async () => {
    await using daemon = await TestDaemon.start();
    const programs = path.join(daemon.paths.root, 'bin');
    mkdirSync(programs);
    // What the daemon calls, and what its start in a namespace does.
    for (const name of ['runc', 'conmon', 'nft', 'ip', 'node', 'tini', 'nsenter', 'env']) {
      const found = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/sbin'].find((folder) =>
        readdirSync(folder).includes(name),
      );
      if (found !== undefined) {
        symlinkSync(path.join(found, name), path.join(programs, name));
      }
    }
    await daemon.restart({ gracefully: true, env: { PATH: programs } });
    const request = { ListenAddr: '127.0.0.1:2377', AdvertiseAddr: '127.0.0.1:2377' };
    const refused = await daemon.http.request('POST', '/swarm/init', { body: request });
    expect([refused.status, refused.json]).toEqual([
      500,
      { message: 'a manager of a swarm needs etcd, which is not installed (Debian: etcd-server)' },
    ]);
    expect(await daemon.http.ok('GET', '/info')).toMatchObject({
      Swarm: { LocalNodeState: 'inactive', NodeID: '' },
    });
    await daemon.restart({ gracefully: true });
    expect(await daemon.http.ok('POST', '/swarm/init', request)).toMatch(/^[0-9a-z]{25}$/);
    await daemon.http.ok('POST', '/swarm/leave?force=1');
  });
});
