import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { DnsSockets } from '../../../runtime/network/dns/dns-sockets.ts';
import { NamespaceDirectory } from '../../../runtime/network/namespace-directory.ts';
import { command } from './host-namespace.ts';
import { needs } from '../../support/needs.ts';
import { sleeps } from '../../support/sleeps.ts';

const CONTAINERS = 20;

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('name servers of containers', () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), `berth-names-${process.pid}-`));
  const namespaces = new NamespaceDirectory(directory);

  afterAll(() => {
    namespaces.list().forEach((id) => namespaces.remove(id));
    rmSync(directory, { recursive: true, force: true });
  });

  test('are there again after a restart of the daemon, whose thread waits for none', () => {
    const ids = Array.from({ length: CONTAINERS }, (_, index) => `c${index}`);
    for (const id of ids) {
      namespaces.create(id).close();
      command('nsenter', `--net=${namespaces.path(id)}`, 'ip', 'link', 'set', 'lo', 'up');
      // As a daemon that dies leaves it.
      using _ = new DnsSockets({ namespaces, log: silentLogger }).listen(id, () => {});
    }
    const names = new DnsSockets({ namespaces, log: silentLogger });
    const before = sleeps();
    const listeners = ids.map((id) => names.listen(id, () => {}));
    const waits = sleeps() - before;
    const rules = ids.map((id) =>
      command(
        'nsenter',
        `--net=${namespaces.path(id)}`,
        'nft',
        'list',
        'chain',
        'ip',
        'berth_names',
        'names',
      ),
    );
    listeners.forEach((listener) => listener[Symbol.dispose]());
    expect(rules.map((text) => text.match(/port set 53$/gm)?.length)).toEqual(ids.map(() => 2));
    expect(waits).toBeLessThan(CONTAINERS / 2);
  });
});
