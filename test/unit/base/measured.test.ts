import { expect, test } from 'vitest';
import { EngineError } from '../../../daemon/base/errors.ts';
import { measured, measuredMessages, onMeasured, tellMeasured } from '../../../daemon/base/measured.ts';

/** What is told while `act` runs, without times. */
async function toldDuring(act: () => Promise<unknown>): Promise<unknown[]> {
  const told: unknown[] = [];
  using _listening = onMeasured(({ subject, action, failure, seconds }) => {
    expect(seconds).toBeGreaterThanOrEqual(0);
    told.push([subject, action, failure]);
  });
  await act();
  return told;
}

async function* messages(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

const failureOf = (text: string): string | undefined => (text.startsWith('bad') ? text : undefined);

test('measured: success and failure of an action are told, with the result and the error passed on', async () => {
  const told = await toldDuring(async () => {
    await expect(measured('container', 'start', async () => 7)).resolves.toBe(7);
    await expect(
      measured('container', 'stop', () => Promise.reject(new EngineError('conflict', 'no'))),
    ).rejects.toThrow('no');
  });
  expect(told).toEqual([
    ['container', 'start', undefined],
    ['container', 'stop', expect.stringContaining('no')],
  ]);
});

const nothing = (): Promise<never> => Promise.reject(new EngineError('not_modified', 'already'));

test('measured: an action that found nothing to do is not told', async () => {
  const told = await toldDuring(() =>
    expect(measured('container', 'start', nothing)).rejects.toThrow('already'),
  );
  expect(told).toEqual([]);
});

test('measured: messages pass in order; one that tells a failure, and a reader who leaves, are failures', async () => {
  const told = await toldDuring(async () => {
    const read: string[] = [];
    for await (const text of measuredMessages('image', 'pull', messages('a', 'b'), failureOf)) {
      read.push(text);
    }
    expect(read).toEqual(['a', 'b']);
    for await (const _text of measuredMessages('image', 'pull', messages('bad', 'b'), failureOf)) {
      // Read to the end.
    }
    for await (const _text of measuredMessages('image', 'pull', messages('a', 'b'), failureOf)) {
      break;
    }
  });
  expect(told).toEqual([
    ['image', 'pull', undefined],
    ['image', 'pull', 'bad'],
    ['image', 'pull', 'canceled'],
  ]);
});

test('measured: nothing is told once nobody listens any more', async () => {
  const told = await toldDuring(async () => tellMeasured('health', 'probe', 'ill'));
  tellMeasured('health', 'probe', undefined);
  expect(told).toEqual([['health', 'probe', 'ill']]);
});
