import { tar } from '../../support/images/tar.ts';
import type { Verb } from './verb.ts';
import { NAME, accept, createVictim, expectState, nothing, removeVictim, startVictim } from '../victim.ts';

/** What reads and writes the files of a container. */
export const fileVerbs: readonly Verb[] = [
  ...['running', 'created'].map((state): Verb => ({
    name: `put archive, ${state}`,
    checkRefused: nothing,
    prepare: async (http) => {
      await createVictim(http);
      if (state === 'running') {
        await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
      }
    },
    act: (http) => accept(http, 'PUT', `/containers/${NAME}/archive?path=/named`, [200], copied()),
    verify: async (http) => {
      // Into the volume, which any container sees.
      await accept(http, 'HEAD', `/containers/${NAME}/archive?path=/named/deep/file`, [200]);
    },
    undo: removeVictim,
  })),
  // One of each way to the files: layers, the whole mount, and both compared.
  ...(
    [
      ['archive?path=/etc', 'created'],
      ['export', 'running'],
      ['changes', 'created'],
    ] as const
  ).map(([what, state]): Verb => ({
    name: `get ${what.replace(/\?.*/, '')}, ${state}`,
    checkRefused: nothing,
    prepare: state === 'running' ? startVictim : createVictim,
    act: (http) => accept(http, 'GET', `/containers/${NAME}/${what}`, [200]),
    verify: (http) => expectState(http, state),
    undo: removeVictim,
  })),
];

function copied(): Buffer {
  return tar([
    { name: 'deep/', mode: 0o700 },
    { name: 'deep/file', content: 'copied' },
    { name: 'link', type: '2', linkName: 'deep' },
  ]);
}
