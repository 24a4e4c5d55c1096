import { expect, test } from 'vitest';
import { ProcessConversation } from '../../../../api/buildkit/services/containers/process-conversation.ts';
import { buildkitStatus } from '../../../../api/buildkit/services/errors.ts';
import type { BuildProcess } from '../../../../api/types/build/containers.ts';
import { BuildError } from '../../../../daemon/base/build-error.ts';
import { withResolvers } from '../../../../daemon/base/concurrency/with-resolvers.ts';
import { notFound } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';

/** A process that says something, takes what it is given, and ends with 3 when its input does. */
function talking(took: string[]): BuildProcess {
  const ended = withResolvers<number>();
  return {
    output: async (sink) => {
      await sink(1, Buffer.from('out'));
      await sink(2, Buffer.from('err'));
      await ended.promise;
    },
    write: (data) => Promise.resolve(void took.push(String(data))),
    endInput: () => ended.resolve(3),
    resize: ({ height, width }) => Promise.resolve(void took.push(`${height}x${width}`)),
    signal: (name) => Promise.resolve(void took.push(name)),
    exited: ended.promise,
    end: () => Promise.resolve(ended.resolve(137)),
  };
}

test('what comes before the process waits for it; only descriptors that are wanted are told', async () => {
  const [sent, took]: [object[], string[]] = [[], []];
  const started = withResolvers<BuildProcess>();
  const conversation = new ProcessConversation({
    fds: [0, 2],
    start: () => started.promise,
    send: (message) => Promise.resolve(void sent.push(message)),
  });
  await conversation.take({ fd: 0, eof: false, data: Buffer.from('a') });
  await conversation.resize({ height: 1, width: 2 });
  await conversation.signal('TERM');
  await expect(conversation.signal('NONE')).rejects.toThrow('Invalid signal: NONE');
  await conversation.take({ fd: 0, eof: true, data: Buffer.from('b') });
  await expect(conversation.take({ fd: 0, eof: false, data: Buffer.from('c') })).rejects.toThrow(
    'fd 0 unavailable to write',
  );
  expect(took).toEqual([]);
  started.resolve(talking(took));
  await conversation.over;
  expect(took.toSorted()).toEqual(['1x2', 'TERM', 'a', 'b']);
  expect(took.indexOf('a')).toBeLessThan(took.indexOf('b'));
  expect(took.indexOf('1x2')).toBeLessThan(took.indexOf('TERM'));
  const value = Buffer.from('{"Code":3}');
  const details = [{ typeUrl: 'github.com/moby/buildkit/gatewayapi.ExitMessage+json', value }];
  expect(sent).toEqual([
    { started: {} },
    { file: { fd: 2, data: Buffer.from('err') } },
    { file: { fd: 2, eof: true } },
    { exit: { code: 3, error: { code: 2, message: 'exit code: 3', details } } },
    { done: {} },
  ]);
});

test('what keeps a process from its start is told as its exit', async () => {
  const sent: object[] = [];
  const conversation = new ProcessConversation({
    fds: [1],
    start: () => Promise.reject(notFound('no container')),
    send: (message) => Promise.resolve(void sent.push(message)),
  });
  await conversation.over;
  await conversation.end();
  expect(sent).toEqual([
    { started: {} },
    { file: { fd: 1, eof: true } },
    { exit: { code: 255, error: { code: 5, message: 'no container', details: [] } } },
    { done: {} },
  ]);
});

test('input that is not read is waited for beyond its bound, and no longer than the process is there', async () => {
  const process: BuildProcess = { ...talking([]), write: () => new Promise(() => undefined) };
  const conversation = new ProcessConversation({
    fds: [0],
    start: () => Promise.resolve(process),
    send: () => Promise.resolve(),
  });
  const data = Buffer.alloc(limits.buildProcessInputBytesMax / 2);
  await conversation.take({ fd: 0, eof: false, data });
  const more = conversation.take({ fd: 0, eof: false, data });
  expect(await isSoon(more)).toBe(false);
  await conversation.end();
  await more;
});

test('many small messages are waited for as large ones are, and so are signals and sizes', async () => {
  const started = withResolvers<BuildProcess>();
  const conversation = new ProcessConversation({
    fds: [0],
    start: () => started.promise,
    send: () => Promise.resolve(),
  });
  const takenOf = async (most: number, send: () => Promise<void>): Promise<number> => {
    for (let taken = 0; taken < most; taken += 1) {
      if (!(await isSoon(send()))) {
        return taken;
      }
    }
    return most;
  };
  const one = Buffer.alloc(1);
  expect(await takenOf(5_000, () => conversation.take({ fd: 0, eof: false, data: one }))).toBeLessThan(5_000);
  expect(await takenOf(5_000, () => conversation.signal('USR1'))).toBe(limits.buildProcessControlsMax);
  expect(await isSoon(conversation.resize({ height: 1, width: 1 }))).toBe(false);
  started.reject(notFound('no container'));
  await conversation.over;
});

async function isSoon(work: Promise<void>): Promise<boolean> {
  const soon = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return await Promise.race([work.then(() => true), soon]);
}

test('the error of a step that can be looked into names what it stood on and left', () => {
  const step = { op: { exec: { meta: { args: ['sh'] } } }, inputs: ['a'], mounts: ['b'] };
  const { details } = buildkitStatus(new BuildError('internal', 'it failed', { step }));
  expect(details.map(({ typeUrl, value }) => [typeUrl, JSON.parse(String(value)) as unknown])).toEqual([
    [
      'github.com/moby/buildkit/errdefs.Solve+json',
      { inputIDs: ['a'], mountIDs: ['b'], op: { exec: { meta: { args: ['sh'] } } } },
    ],
  ]);
});
