import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerConfig } from '../../../api/types/container.ts';
import type { ImageHistoryItem, ProgressMessage } from '../../../api/types/image.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { imageTree } from '../../support/images/file-tree.ts';
import { jsonLines } from '../../support/engine/http.ts';
import { imageTar } from '../../support/images/images.ts';
import { tar, type TarEntry } from '../../support/images/tar.ts';
import { CONFIG_ROWS, FILE_ROWS, RUN_ROWS, type Row } from './dockerfile/rows.ts';

/**
 * What dockerd makes of each Dockerfile stands in dockerfile/dockerd.json, written by it (BERTH_TEST_ENGINE=dockerd).
 * Where Berth is to differ, the row says why. Errors are in words of its own, which the snapshot keeps.
 */
interface Seen {
  error?: string;
  config?: object;
  history?: string[];
  files?: string[];
}

const REFERENCE = path.join(import.meta.dirname, 'dockerfile/dockerd.json');
const reference = existsSync(REFERENCE)
  ? // Written below.
    (JSON.parse(readFileSync(REFERENCE, 'utf8')) as Record<string, Seen>)
  : {};

const BASE: readonly TarEntry[] = [
  { name: 'etc/' },
  { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nme:x:11:12::/:/bin/sh\n' },
  { name: 'etc/group', content: 'root:x:0:\nme:x:12:\nus:x:13:\n' },
  { name: 'dir/' },
  { name: 'dir/kept', content: 'kept' },
  { name: 'sticky/', mode: 0o1777 },
  { name: 'file', content: 'old', mode: 0o600 },
  { name: 'link', type: '2', linkName: 'dir' },
  { name: 'tofile', type: '2', linkName: 'file' },
  { name: 'dangling', type: '2', linkName: 'dir/made' },
];
const PATH = 'PATH=/bin';
const FIXED_TIME = '1500000000000000000';

describeEngine('Dockerfile', (engine) => {
  const seenBefore = new Map<string, ReadonlyMap<string, string>>();
  const load = (name: string, config: object): Promise<unknown> =>
    engine.http.ok(
      'POST',
      '/images/load?quiet=1',
      imageTar([BASE], { tags: [`${name}:latest`], config: { Env: [PATH], ...config } }),
    );
  beforeAll(async () => {
    await load('tiny', {});
    await load('commanded', { Cmd: ['of the base'] });
    await load('onbuilt', { OnBuild: ['ENV A=1', 'LABEL b=$A'] });
    for (const name of ['tiny', 'busybox']) {
      seenBefore.set(name, await imageTree(engine.http, name));
    }
  });
  afterEach(async () => {
    await engine.removeAll();
  });

  const see = async ({ lines, files = [], query = '' }: Row): Promise<Seen> => {
    const answer = await engine.http.request('POST', `/build?forcerm=1&${query}`, {
      body: tar([{ name: 'Dockerfile', content: `${lines.join('\n')}\n` }, ...files]),
      headers: { 'Content-Type': 'application/x-tar' },
    });
    if (answer.status !== 200) {
      return { error: plain((answer.json as { message: string }).message) };
    }
    const messages = jsonLines(answer.text) as ProgressMessage[];
    const failure = messages.find((message) => message.error !== undefined)?.error;
    if (failure !== undefined) {
      return { error: plain(failure) };
    }
    const id = messages.flatMap(({ aux }) => (aux as { ID?: string } | undefined)?.ID ?? []).at(-1) ?? '';
    const { Config } = await engine.http.ok<{ Config: ContainerConfig }>('GET', `/images/${id}/json`);
    const history = await engine.http.ok<ImageHistoryItem[]>('GET', `/images/${id}/history`);
    return {
      config: configOf(Config),
      history: history.map(({ CreatedBy }) => plain(CreatedBy)).toReversed(),
      files: await newFiles(id, lines.some((line) => line.startsWith('FROM busybox')) ? 'busybox' : 'tiny'),
    };
  };
  const newFiles = async (id: string, base: string): Promise<string[]> => {
    const { GraphDriver } = await engine.http.ok<{ GraphDriver: { Data: object | null } }>(
      'GET',
      `/images/${id}/json`,
    );
    if (GraphDriver.Data === null) {
      return [];
    }
    const before = seenBefore.get(base) ?? new Map<string, string>();
    const after = await imageTree(engine.http, id);
    const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => `${name} is gone`);
    const changed = [...after].filter(([name, what]) => before.get(name) !== what);
    return [...changed.map(([name, what]) => `${name} ${lasting(what)}`), ...gone];
  };

  describe.each([
    ['configuration', CONFIG_ROWS],
    ['files', FILE_ROWS],
    ['commands', RUN_ROWS],
  ])('%s', (_what, rows) => {
    test.each(rows)('$title', async (row) => {
      const seen = await see(row);
      if (onReference) {
        reference[row.title] = seen;
      } else if (row.differs !== undefined) {
        expect(seen, row.differs).not.toEqual(reference[row.title]);
        expect(seen).toMatchSnapshot();
      } else if (seen.error !== undefined && reference[row.title]?.error !== undefined) {
        expect(seen.error).toMatchSnapshot();
      } else {
        expect(seen).toEqual(reference[row.title]);
      }
    });
  });
  afterAll(() => {
    if (onReference) {
      writeFileSync(REFERENCE, `${JSON.stringify(reference, null, 1)}\n`);
    }
  });
});

/** Without what is empty, whichever way, and without what each engine calls its own. */
function configOf(config: ContainerConfig): object {
  const own = new Set(['Image', 'Hostname', 'Domainname']);
  return Object.fromEntries(
    Object.entries(config)
      .filter(([key, value]) => {
        // Of what JSON has, only these are objects.
        const isEmpty =
          value === null ||
          value === '' ||
          value === false ||
          (typeof value === 'object' && Object.keys(value as object).length === 0);
        return !own.has(key) && !isEmpty;
      })
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Without digests, ids, and where things are on this machine. */
function plain(text: string): string {
  return text
    .replace(/Get "https:.*/s, 'no registry')
    .replace(/\/tmp\/berth-test-\S*\/merged/g, 'ROOT')
    .replace(/pivot_root\d+/, 'pivot_root')
    .replace(/\b[0-9a-f]{64}\b/g, 'DIGEST')
    .replace(/\b[0-9a-f]{12}\b/g, 'ID')
    .trim();
}

/** Times only where the context gave them. */
function lasting(line: string): string {
  return line
    .split(' ')
    .map((word) =>
      /^\d{10,}$/.test(word) && word !== FIXED_TIME
        ? 'TIME'
        : /^[0-9a-f]{64}$/.test(word)
          ? word.slice(0, 8)
          : word,
    )
    .join(' ');
}
