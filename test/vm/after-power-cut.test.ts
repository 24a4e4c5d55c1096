import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ContainerInspect, ContainerSummary } from '../../api/types/container.ts';
import { until } from '../support/engine/http.ts';
import { needs } from '../support/needs.ts';
import { differences } from '../support/engine/oracle.ts';
import { ServiceDaemon } from '../support/engine/service.ts';
import { readTar } from '../support/images/tar.ts';
import { FILLING, parseJournal, type Acknowledged } from './power-journal.ts';
import { build } from './power-lanes.ts';
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
    expect(loaded.filter((name) => !tags.has(name))).toEqual([]);
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

  test('images that were imported, committed and built are there under their ids, steps of builds too', async () => {
    const made = journal.flatMap((entry) =>
      entry.did === 'imported' || entry.did === 'committed' || entry.did === 'built' ? [entry] : [],
    );
    const found: unknown[] = [];
    for (const { did, name } of made) {
      const { status, json } = await http.request('GET', `/images/${name}/json`);
      found.push({ did, name, id: status === 200 ? (json as { Id: string }).Id : status });
    }
    expect(found).toEqual(made);
    // One step of each takes the time of day into the image: from the cache, or it would have another id.
    const built = made.filter(({ did }) => did === 'built').slice(-2);
    const again = [];
    for (const { did, name } of built) {
      again.push({ did, name, id: await build(http, name) });
    }
    expect(again).toEqual(built);
  });

  test('networks are there, with those who were connected, and removed ones are not', async () => {
    const networks = await http.ok<{ Name: string; Id: string }[]>('GET', '/networks');
    const ids = new Map(networks.map(({ Name, Id }) => [Name, Id]));
    const removing = new Set(namesOf('removing'));
    const made = journal.flatMap((entry) =>
      entry.did === 'network' && !removing.has(entry.name) ? [[entry.name, entry.id]] : [],
    );
    expect(made.map(([name = '']) => [name, ids.get(name)])).toEqual(made);
    expect(namesOf('removed').filter((name) => ids.has(name))).toEqual([]);
    for (const entry of journal) {
      if (entry.did === 'connected' && !removing.has(entry.network)) {
        const { Networks } = (await inspect(entry.name)).NetworkSettings;
        expect(Object.keys(Networks)).toContain(entry.network);
      }
    }
  });

  test('volumes hold what was copied and written into them, and none is filled by half', async () => {
    const list = await http.ok<{ Volumes: { Name: string; Mountpoint: string }[] | null }>('GET', '/volumes');
    const folders = new Map((list.Volumes ?? []).map(({ Name, Mountpoint }) => [Name, Mountpoint]));
    const read = (name: string): Record<string, string> => {
      const folder = folders.get(name) ?? '';
      const files = folder === '' ? [] : readdirSync(folder);
      return Object.fromEntries(files.map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]));
    };
    for (const name of namesOf('written')) {
      expect([name, read(name)]).toEqual([name, { f: `${name}\n` }]);
    }
    const acknowledged = new Set(namesOf('filled'));
    const broken = [...new Set([...acknowledged, ...folders.keys()])].filter((name) => {
      const content = read(name);
      const isWhole = isDeepStrictEqual(content, FILLING);
      const isEmpty = Object.keys(content).length === 0;
      return name.startsWith('filled-') && !isWhole && (acknowledged.has(name) || !isEmpty);
    });
    expect(broken).toEqual([]);
  });

  test('work goes on: a container runs, and old ones can be started and removed', async () => {
    const list = await http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
    for (const { Id, State } of list) {
      if (State !== 'running') {
        await http.ok('POST', `/containers/${Id}/start`);
      }
      await http.ok('DELETE', `/containers/${Id}?force=1&v=1`);
    }
    await http.ok('POST', `/volumes/prune?filters=${encodeURIComponent('{"all":["true"]}')}`);
    await http.ok('POST', '/networks/prune');
    await expect.poll(() => differences(daemon), { timeout: SLOW_MS * PATIENCE, interval: 2000 }).toEqual([]);
  });
});
