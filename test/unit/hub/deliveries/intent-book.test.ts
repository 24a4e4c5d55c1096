import { expect, test } from 'vitest';
import { IntentBook } from '../../../../daemon/hub/deliveries/intent-book.ts';
import { intentsOf, recordOf, type Intent } from '../../../../daemon/hub/deliveries/intent.ts';
import { pushed } from '../../../support/hub/occurrences.ts';

const NEWS = { kind: 'occurrence', occurrence: pushed() } as const;
const KEY = 'intent/A';

function intent(id: string, more: Partial<Intent> = {}): Intent {
  return {
    id,
    guid: `guid of ${id}`,
    hook: 1,
    repository: 7,
    event: 'push',
    action: null,
    news: NEWS,
    lastHook: null,
    attempt: 0,
    notBeforeMs: 0,
    ...more,
  };
}

const hook = {
  id: 1,
  repository: 7,
  isActive: true,
  events: ['*'],
  config: { url: 'http://host', contentType: 'json', secret: null, insecureSsl: '0' },
  createdMs: 0,
  updatedMs: 0,
} as const;

/** Of three deliveries of one occurrence, by what they are called in these tests. */
function taken() {
  const book = new IntentBook();
  const record = recordOf('A', [intent('A-0'), intent('A-1'), intent('A-2')]);
  const [a, b, c] = book.take(KEY, record);
  if (a === undefined || b === undefined || c === undefined) {
    throw new Error('not all of them');
  }
  return { book, record, a, b, c };
}

const ended = (...intents: Intent[]) => intents.map((each) => ({ intent: each, next: undefined }));

test('a record says what its deliveries share once, and leaves out what is nothing', () => {
  const all = [
    intent('A-0'),
    intent('A-7', {
      hook: 2,
      event: 'package',
      action: 'deleted',
      lastHook: hook,
      attempt: 2,
      notBeforeMs: 5,
    }),
  ] as const;
  const record = recordOf('A', all);
  expect(record).toEqual({
    id: 'A',
    repository: 7,
    news: NEWS,
    deliveries: [
      { at: 0, guid: 'guid of A-0', hook: 1, event: 'push' },
      {
        at: 7,
        guid: 'guid of A-7',
        hook: 2,
        event: 'package',
        action: 'deleted',
        lastHook: hook,
        attempt: 2,
        notBeforeMs: 5,
      },
    ],
  });
  expect(intentsOf(JSON.parse(JSON.stringify(record)))).toEqual(all);
});

test('a record of an older daemon is its delivery, and keeps its name when it is tried again', () => {
  const old = intent('A');
  const book = new IntentBook();
  expect(book.take(KEY, old)).toEqual([old]);
  const next = { ...old, attempt: 1 };
  const { changes } = book.settle([{ intent: old, next }]);
  expect(changes).toMatchObject([{ kind: 'put', key: KEY, value: { deliveries: [{ attempt: 1 }] } }]);
  const [change] = changes;
  expect(change?.kind === 'put' && intentsOf(change.value)).toEqual([next]);
});

test('a record names what is left of it, and goes with the last', () => {
  const { book, a, b, c } = taken();
  const first = book.settle(ended(a, c));
  expect(first.changes).toEqual([{ kind: 'put', key: KEY, value: recordOf('A', [b]) }]);
  // What could not be written is settled once more, with what came since.
  expect(book.settle(ended(a, b, c)).changes).toEqual([{ kind: 'delete', key: KEY }]);
  first.done();
  expect(book.settle(ended(b)).changes).toEqual([{ kind: 'delete', key: KEY }]);
});

test('what is told late of a record is not taken again, until the watch has told that it is gone', () => {
  const { book, record, a, b, c } = taken();
  expect(book.take(KEY, record)).toEqual([]);
  book.settle(ended(a, b, c)).done();
  expect(book.take(KEY, recordOf('A', [c]))).toEqual([]);
  expect(book.over()).toEqual([KEY]);
  book.gone(KEY);
  expect(book.over()).toEqual([]);
  expect(book.take(KEY, record)).toHaveLength(3);
});

test('a record that is told to be gone before that is known to be written is forgotten then', () => {
  const { book, record, a, b, c } = taken();
  const { done } = book.settle(ended(a, b, c));
  book.gone(KEY);
  expect(book.take(KEY, record)).toEqual([]);
  done();
  expect(book.take(KEY, record)).toHaveLength(3);
});

test('another attempt stays in the record, and is of it', () => {
  const { book, a, b, c } = taken();
  const next = { ...b, attempt: 1, notBeforeMs: 60_000 };
  const { changes, done } = book.settle([...ended(a, c), { intent: b, next }]);
  expect(changes).toEqual([{ kind: 'put', key: KEY, value: recordOf('A', [next]) }]);
  done();
  expect(book.settle(ended(next)).changes).toEqual([{ kind: 'delete', key: KEY }]);
});
