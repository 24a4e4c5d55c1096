import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { IntentQueue } from '../../../daemon/hub/deliveries/intent-queue.ts';
import { fullness, type Intent } from '../../../daemon/hub/deliveries/intent.ts';

const { hubIntentsMax: MAX, hubIntentsOfHookMax: OF_HOOK, hubIntentsOfHookShare: SHARE } = limits;

test.each([
  ['nothing waits', 0, 0, undefined],
  ['one less than a hook may have', OF_HOOK - 1, MAX - 1, undefined],
  ['as many as a hook may have', OF_HOOK, OF_HOOK, `${OF_HOOK} deliveries of this hook wait`],
  ['many wait, of this hook few', SHARE - 1, MAX, undefined],
  [
    'many wait, of this hook its share',
    SHARE,
    MAX,
    `${MAX} deliveries of all hooks, ${SHARE} of this one, wait`,
  ],
  ['nearly as many as may', SHARE, MAX - 1, undefined],
])('%s', (_title, ofHook, inAll, said) => {
  const why = fullness({ ofHook, inAll });
  expect(why?.slice(0, said?.length)).toBe(said);
});

test('the queue knows how many wait in all: also those that are under way, and that were given back', () => {
  const queue = new IntentQueue({ inAll: 2, ofHost: 2, ofHook: 2 }, () => 'a');
  for (const hook of [1, 1, 1, 2]) {
    queue.add(intent(hook));
  }
  expect(queue.waiting).toBe(4);
  const [first, second] = [queue.take(), queue.take()];
  expect(queue.waiting).toBe(4);
  first?.done(first.intents.slice(1));
  expect([queue.waiting, queue.waitingOf(1), queue.waitingOf(2)]).toEqual([3, 2, 1]);
  second?.done([]);
  queue.take()?.done([]);
  expect([queue.waiting, queue.waitingOf(1), queue.waitingOf(2)]).toEqual([0, 0, 0]);
});

function intent(hook: number): Intent {
  return {
    id: '',
    guid: '',
    hook,
    repository: 1,
    event: 'push',
    action: null,
    news: { kind: 'again', delivery: 1 },
    lastHook: null,
    attempt: 0,
    notBeforeMs: 0,
  };
}
