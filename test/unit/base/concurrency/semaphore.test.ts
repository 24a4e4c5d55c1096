import { expect, test } from 'vitest';
import { Semaphore } from '../../../../daemon/base/concurrency/semaphore.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

/** Tasks by name that end when they are told to, and which of them run. */
function tasks(): {
  running: string[];
  task: (name: string) => () => Promise<string>;
  end: (name: string) => Promise<void>;
} {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    running,
    task: (name) => async () => {
      running.push(name);
      await new Promise<void>((resolve) => {
        ends.set(name, resolve);
      });
      running.splice(running.indexOf(name), 1);
      return name;
    },
    end: async (name) => {
      ends.get(name)?.();
      await settled();
    },
  };
}

test('semaphore: so many at a time, the others in order of arrival', async () => {
  const { running, task, end } = tasks();
  const semaphore = new Semaphore(2);
  const results = Promise.all(['a', 'b', 'c', 'd'].map((name) => semaphore.run(task(name))));
  await settled();
  expect(running).toEqual(['a', 'b']);
  await end('b');
  expect(running).toEqual(['a', 'c']);
  await end('a');
  expect(running).toEqual(['c', 'd']);
  await end('c');
  await end('d');
  expect(await results).toEqual(['a', 'b', 'c', 'd']);
});

test('semaphore: a task that fails makes room', async () => {
  const semaphore = new Semaphore(1);
  const failing = semaphore.run(() => Promise.reject(new Error('no')));
  const next = semaphore.run(() => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('semaphore: the setting is read anew each time', async () => {
  const { running, task, end } = tasks();
  let max = 1;
  const semaphore = new Semaphore(() => max);
  const results = Promise.all(['a', 'b', 'c', 'd'].map((name) => semaphore.run(task(name))));
  await settled();
  max = 3;
  await end('a');
  expect(running).toEqual(['b', 'c', 'd']);
  await end('b');
  await end('c');
  await end('d');
  await results;
});

test('semaphore: a signal takes a task out of the line, not out of its work', async () => {
  const { running, task, end } = tasks();
  const semaphore = new Semaphore(1);
  const [first, second] = [new AbortController(), new AbortController()];
  const a = semaphore.run(task('a'), first.signal);
  const b = semaphore.run(task('b'), second.signal);
  const c = semaphore.run(task('c'));
  await settled();
  first.abort();
  second.abort();
  await expect(b).rejects.toMatchObject({ code: 'canceled' });
  expect(running).toEqual(['a']);
  await end('a');
  expect([await a, ...running]).toEqual(['a', 'c']);
  await end('c');
  await c;
  await expect(semaphore.run(task('d'), first.signal)).rejects.toMatchObject({ code: 'canceled' });
});

test('semaphore: a permit that is disposed twice counts once', async () => {
  const semaphore = new Semaphore(1);
  const permit = await semaphore.acquire();
  permit[Symbol.dispose]();
  permit[Symbol.dispose]();
  using _next = await semaphore.acquire();
  let entered = false;
  void semaphore.run(() => {
    entered = true;
    return Promise.resolve();
  });
  await settled();
  expect(entered).toBe(false);
});

test('semaphore: what cannot wait gets a permit where there is one, and not before those that wait', async () => {
  const semaphore = new Semaphore(1);
  const permit = semaphore.acquireNow();
  expect([permit === undefined, semaphore.acquireNow()]).toEqual([false, undefined]);
  const waiting = semaphore.acquire();
  permit?.[Symbol.dispose]();
  expect(semaphore.acquireNow()).toBeUndefined();
  (await waiting)[Symbol.dispose]();
  using again = semaphore.acquireNow();
  expect(again).toBeDefined();
});
