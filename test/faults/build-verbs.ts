import type { ImageSummary } from '../../api/types/image.ts';
import type { HttpClient } from '../support/http.ts';
import { tar } from '../support/tar.ts';
import type { Verb } from './verb.ts';
import { accept, createVictim, NAME, removeVictim, unchanged } from './victim.ts';

/** What makes images on this engine. */
export const buildVerbs: readonly Verb[] = [
  {
    name: 'commit',
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
];

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
