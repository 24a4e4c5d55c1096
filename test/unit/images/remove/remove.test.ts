import { describe, expect, test } from 'vitest';
import { decideRemoval } from '../../../../daemon/images/remove/remove.ts';

const ID = `sha256:abcdef123456${'0'.repeat(52)}`;
const running = { id: `aaaaaaaaaaaa${'0'.repeat(52)}`, name: 'a', running: true };
const stopped = { id: `bbbbbbbbbbbb${'0'.repeat(52)}`, name: 'b', running: false };

function tag(name: string): { repository: string; tag: string; imageId: string } {
  const [repository = '', version = ''] = name.split(':');
  return { repository: `docker.io/library/${repository}`, tag: version, imageId: ID };
}

function digest(name: string): { repository: string; digest: string; imageId: string } {
  const [repository = '', hash = ''] = name.split('@');
  return { repository: `docker.io/library/${repository}`, digest: hash, imageId: ID };
}

function decide(asked: string, tags: string[], users: (typeof running)[], force = false): unknown {
  try {
    const facts = {
      imageId: ID,
      asked,
      tags: tags.filter((name) => !name.includes('@')).map((name) => tag(name)),
      digests: tags.filter((name) => name.includes('@')).map((name) => digest(name)),
      users,
      hasChildren: false,
      listedIn: undefined,
      force,
    };
    const plan = decideRemoval(facts);
    const names = [
      ...plan.untag.map((item) => item.tag),
      ...plan.untagDigests.map(({ repository }) => repository),
    ];
    return { untag: names, image: plan.removeImage };
  } catch (error) {
    return error instanceof Error ? error.message.split(' - ') : error;
  }
}

describe('remove: what goes', () => {
  test('the whole table', () => {
    expect({
      'last name': decide('x:1', ['x:1'], []),
      'last name, used': decide('x:1', ['x:1'], [stopped]),
      'last name, used by a stopped one, force': decide('x:1', ['x:1'], [stopped], true),
      'last name, used by a running one, force': decide('x:1', ['x:1'], [running], true),
      'one of two names': decide('x:1', ['x:1', 'x:2'], []),
      'one of two names, used': decide('x:1', ['x:1', 'x:2'], [running]),
      'a name without a tag': decide('x', ['x:latest', 'x:2'], []),
      'an id': decide(ID, ['x:1'], []),
      'a short id, no names': decide('abcdef', [], []),
      'an id, two names': decide('abcdef123456', ['x:1', 'y:1'], []),
      'an id, two names, force': decide('abcdef123456', ['x:1', 'y:1'], [], true),
      'an id, stopped': decide('sha256:abcdef', ['x:1'], [stopped]),
      'an id, stopped, force': decide(ID, ['x:1'], [stopped], true),
      'an id, running': decide(ID, ['x:1'], [stopped, running]),
      'an id, running, force': decide(ID, ['x:1'], [running], true),
      'an id, two names, running': decide(ID, ['x:1', 'y:1'], [running]),
    }).toMatchInlineSnapshot(`
      {
        "a name without a tag": {
          "image": false,
          "untag": [
            "latest",
          ],
        },
        "a short id, no names": {
          "image": true,
          "untag": [],
        },
        "an id": {
          "image": true,
          "untag": [
            "1",
          ],
        },
        "an id, running": [
          "conflict: unable to delete abcdef123456 (cannot be forced)",
          "image is being used by running container aaaaaaaaaaaa",
        ],
        "an id, running, force": [
          "conflict: unable to delete abcdef123456 (cannot be forced)",
          "image is being used by running container aaaaaaaaaaaa",
        ],
        "an id, stopped": [
          "conflict: unable to delete abcdef123456 (must be forced)",
          "image is being used by stopped container bbbbbbbbbbbb",
        ],
        "an id, stopped, force": {
          "image": true,
          "untag": [
            "1",
          ],
        },
        "an id, two names": [
          "conflict: unable to delete abcdef123456 (must be forced)",
          "image is referenced in multiple repositories",
        ],
        "an id, two names, force": {
          "image": true,
          "untag": [
            "1",
            "1",
          ],
        },
        "an id, two names, running": [
          "conflict: unable to delete abcdef123456 (cannot be forced)",
          "image is being used by running container aaaaaaaaaaaa",
        ],
        "last name": {
          "image": true,
          "untag": [
            "1",
          ],
        },
        "last name, used": [
          "conflict: unable to remove repository reference "x:1" (must force)",
          "container bbbbbbbbbbbb is using its referenced image abcdef123456",
        ],
        "last name, used by a running one, force": {
          "image": false,
          "untag": [
            "1",
          ],
        },
        "last name, used by a stopped one, force": {
          "image": true,
          "untag": [
            "1",
          ],
        },
        "one of two names": {
          "image": false,
          "untag": [
            "1",
          ],
        },
        "one of two names, used": {
          "image": false,
          "untag": [
            "1",
          ],
        },
      }
    `);
  });
});

describe('remove: digests', () => {
  const D = `sha256:${'d'.repeat(64)}`;
  test.each([
    [
      'the last tag takes its digests along',
      'x:1',
      ['x:1', `x@${D}`],
      { untag: ['1', 'docker.io/library/x'], image: true },
    ],
    ['one of two tags leaves them', 'x:1', ['x:1', 'x:2', `x@${D}`], { untag: ['1'], image: false }],
    ['another repository keeps the image', 'x:1', ['x:1', `y@${D}`], { untag: ['1'], image: false }],
    ['a digest by itself', `x@${D}`, [`x@${D}`], { untag: ['docker.io/library/x'], image: true }],
    ['a digest beside a tag', `x@${D}`, ['x:1', `x@${D}`], { untag: ['docker.io/library/x'], image: false }],
    [
      'an id with a tag and its digest',
      ID,
      ['x:1', `x@${D}`],
      { untag: ['1', 'docker.io/library/x'], image: true },
    ],
  ])('%s', (_title, asked, names, expected) => {
    expect(decide(asked, names, [])).toEqual(expected);
  });
});
