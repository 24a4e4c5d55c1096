import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ContainerInspect, ContainerSummary } from '../../api/types/container.ts';
import { until } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { differences } from '../support/oracle.ts';
import { ServiceDaemon } from '../support/service.ts';
import { readTar } from '../support/tar.ts';
import { parseJournal, type Acknowledged } from './power-journal.ts';
import { PATIENCE } from '../support/patience.ts';

/** Put there by scripts/vm, which received it line by line until the power went. */
const JOURNAL = '/run/power-journal';
const SLOW_MS = 60_000;

const suite = existsSync(JOURNAL) ? needs('guest') : describe.skip;

suite('after a power cut', () => {
  const daemon = ServiceDaemon.found();
  const { http } = daemon;
  const journal = existsSync(JOURNAL) ? parseJournal(readFileSync(JOURNAL, 'utf8')) : [];
  const namesOf = (...kinds: Acknowledged['did'][]): string[] =>
    journal.filter(({ did }) => kinds.includes(did)).map(({ name }) => name);
  const inspect = (name: string): Promise<ContainerInspect> => http.ok('GET', `/containers/${name}/json`);

  test('the service runs again, by itself', async () => {
    await until('the service to answer', async () => (await http.request('GET', '/_ping')).status === 200);
    expect(journal.length).toBeGreaterThan(5);
  });

  test('containers with a restart policy run again, others show how they ended', async () => {
    const keepers = journal.flatMap((entry) =>
      entry.did === 'started' && entry.name.startsWith('keeper') ? [entry] : [],
    );
    expect(keepers.length).toBeGreaterThan(0);
    for (const { name, policy } of keepers) {
      const expected = policy === 'no' ? 'exited' : 'running';
      await until(`${name} to be ${expected}`, async () => (await inspect(name)).State.Status === expected);
    }
  });

  test('what was created is there, what was removed is not', async () => {
    const list = await http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
    const found = new Set(list.map(({ Names }) => Names[0]?.slice(1)));
    const removing = new Set(namesOf('removing'));
    const created = namesOf('created').filter((name) => !removing.has(name));
    expect({
      missing: created.filter((name) => !found.has(name)),
      risen: namesOf('removed').filter((name) => found.has(name)),
    }).toEqual({ missing: [], risen: [] });
  });

  test('the oracle finds no differences', async () => {
    await expect.poll(() => differences(daemon), { timeout: SLOW_MS * PATIENCE, interval: 2000 }).toEqual([]);
  });

  test('images: those loaded are there, and every layer has the bytes of its digest', async () => {
    const images = await http.ok<{ Id: string; RepoTags: string[] | null }[]>('GET', '/images/json');
    const tags = new Set(images.flatMap(({ RepoTags }) => RepoTags ?? []));
    const removing = new Set(namesOf('removing'));
    const loaded = namesOf('loaded').filter((name) => !removing.has(name));
    // The row of the last one may not have been synced yet: loads of the last moments are not promised.
    expect(loaded.slice(0, -1).filter((name) => !tags.has(name))).toEqual([]);
    for (const { Id } of images) {
      const saved = readTar((await http.request('GET', `/images/${Id}/get`)).bytes);
      const read = (name: string): Buffer => saved.get(name) ?? Buffer.alloc(0);
      const [manifest] = JSON.parse(read('manifest.json').toString());
      const { rootfs } = JSON.parse(read(manifest.Config).toString());
      const digests = manifest.Layers.map(
        (layer: string) => `sha256:${createHash('sha256').update(read(layer)).digest('hex')}`,
      );
      expect(digests).toEqual(rootfs.diff_ids);
    }
  });

  test('work goes on: a container runs, and old ones can be started and removed', async () => {
    const list = await http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
    for (const { Id, State } of list) {
      if (State !== 'running') {
        await http.ok('POST', `/containers/${Id}/start`);
      }
      await http.ok('DELETE', `/containers/${Id}?force=1&v=1`);
    }
    await http.ok('POST', '/volumes/prune');
    await expect.poll(() => differences(daemon), { timeout: SLOW_MS * PATIENCE, interval: 2000 }).toEqual([]);
  });
});
