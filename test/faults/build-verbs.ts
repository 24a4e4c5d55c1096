import { expect } from 'vitest';
import type { ImageSummary } from '../../api/types/image.ts';
import type { HttpClient } from '../support/http.ts';
import { tar } from '../support/tar.ts';
import type { Verb } from './verb.ts';
import { accept, createVictim, NAME, nothing, publicView, removeVictim, unchanged } from './victim.ts';

/** What makes images on this engine. */
export const buildVerbs: readonly Verb[] = [
  {
    name: 'commit',
    only: /^(?:containers\.commit|archives\.layer|database\.image|images\.load\.(?:layer|rename|sync|commit))/,
    checkRefused: unchanged,
    prepare: async (http) => {
      await createVictim(http);
      await accept(http, 'PUT', `/containers/${NAME}/archive?path=/`, [200], changed());
    },
    act: (http) => accept(http, 'POST', `/commit?container=${NAME}&repo=committed`, [201]),
    verify: (http) => accept(http, 'GET', '/images/committed/json', [200]),
    undo: async (http) => {
      await removeVictim(http);
      await removeNamed(http, 'committed');
    },
  },
  {
    name: 'build',
    // Containers, layers and rows are made as by other verbs.
    only: /^(?:images\.build|archives\.place)/,
    checkRefused: unnamed,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/build?t=built&forcerm=1', [200], context()),
    verify: (http) => accept(http, 'GET', '/images/built/json', [200]),
    undo: async (http) => {
      // Of a step whose daemon was killed.
      await accept(http, 'POST', '/containers/prune', [200]);
      await removeNamed(http, 'built');
    },
  },
];

/** Steps that went well before the failure are kept for the next build. */
async function unnamed(http: HttpClient): Promise<void> {
  await accept(http, 'GET', '/images/built/json', [404]);
  const { containers } = await publicView(http);
  expect(containers).toEqual([]);
}

function context(): Buffer {
  const dockerfile = 'FROM busybox\nCOPY f /f\nRUN echo x >/x\nFROM scratch\nCOPY --from=0 /x /y\n';
  return tar([
    { name: 'Dockerfile', content: dockerfile },
    { name: 'f', content: 'f' },
  ]);
}

/** The image, and those whose name a second attempt took away. */
async function removeNamed(http: HttpClient, name: string): Promise<void> {
  await accept(http, 'DELETE', `/images/${name}?force=1`, [200, 404]);
  const images = await http.ok<ImageSummary[]>('GET', '/images/json?filters={"dangling":["true"]}');
  for (const { Id } of images) {
    await accept(http, 'DELETE', `/images/${Id}?force=1`, [200, 404]);
  }
}

function changed(): Buffer {
  return tar([
    { name: 'deep/', mode: 0o700 },
    { name: 'deep/file', content: 'copied' },
  ]);
}
