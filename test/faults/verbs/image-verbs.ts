import { busyboxImageTar } from '../../support/images/images.ts';
import type { HttpClient } from '../../support/engine/http.ts';
import { tar } from '../../support/images/tar.ts';
import type { Verb } from './verb.ts';
import { accept, nothing, unchanged } from '../victim.ts';

/** Images with the label that `twoLayers` has. */
const FAULTY = encodeURIComponent(JSON.stringify({ dangling: ['false'], label: ['faulty'] }));

export const imageVerbs: readonly Verb[] = [
  {
    name: 'load',
    checkRefused: unchanged,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: removeImage,
  },
  {
    name: 'tag',
    checkRefused: unchanged,
    prepare: nothing,
    act: (http) => accept(http, 'POST', '/images/busybox/tag?repo=faulty&tag=1', [201]),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: removeImage,
  },
  {
    name: 'remove image',
    checkRefused: unchanged,
    prepare: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    act: removeImage,
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [404]),
    undo: removeImage,
  },
  {
    name: 'save',
    checkRefused: unchanged,
    prepare: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    act: (http) => accept(http, 'GET', '/images/faulty:1/get', [200]),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: removeImage,
  },
  {
    name: 'prune images',
    // It goes image by image, then tells of all: what is gone by then stays gone.
    checkRefused: nothing,
    prepare: (http) => accept(http, 'POST', '/images/load?quiet=1', [200], twoLayers()),
    act: (http) => accept(http, 'POST', `/images/prune?filters=${FAULTY}`, [200]),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [404]),
    undo: removeImage,
  },
  {
    name: 'import',
    checkRefused: unchanged,
    prepare: nothing,
    act: (http) =>
      accept(http, 'POST', '/images/create?fromSrc=-&repo=faulty&tag=1', [200], tar([{ name: 'proof' }])),
    verify: (http) => accept(http, 'GET', '/images/faulty:1/json', [200]),
    undo: removeImage,
  },
];

function removeImage(http: HttpClient): Promise<void> {
  return accept(http, 'DELETE', '/images/faulty:1?force=1', [200, 404]);
}

function twoLayers(): Buffer {
  const layer = tar([{ name: 'proof', content: 'second layer' }]);
  return busyboxImageTar({ tags: ['faulty:1'], extraLayers: [layer], config: { Labels: { faulty: '' } } });
}
