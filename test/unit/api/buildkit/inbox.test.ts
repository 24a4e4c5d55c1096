import type { Http2Stream } from 'node:http2';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { frame } from '../../../../api/buildkit/rpc/framing.ts';
import { Inbox } from '../../../../api/buildkit/rpc/inbox.ts';
import { limits } from '../../../../daemon/base/limits.ts';

/** Of what a stream has nothing but the readable side is used. */
const inboxOf = (stream: PassThrough): Inbox => new Inbox(stream as unknown as Http2Stream, 1024);
const EMPTY = frame(Buffer.alloc(0));

test('messages that nobody looks at hold their sender up, however small they are, until somebody does', async () => {
  const stream = new PassThrough({ highWaterMark: limits.rpcUnreadBytesMax });
  using inbox = inboxOf(stream);
  // As objects they take a hundred times as much as on their way.
  stream.write(Buffer.concat(Array.from({ length: 10_000 }, () => EMPTY)));
  expect(await inbox.next()).toHaveLength(10_000);
  expect(stream.isPaused()).toBe(false);
  stream.write(Buffer.concat(Array.from({ length: 10_000 }, () => EMPTY)));
  stream.write(EMPTY);
  await new Promise((resolve) => setImmediate(resolve));
  expect(stream.isPaused()).toBe(true);
  expect(await inbox.next()).toHaveLength(10_000);
  expect(await inbox.next()).toHaveLength(1);
});

test('what came before the end, or before an error, is told first', async () => {
  for (const [error, told] of [
    [undefined, undefined],
    [new Error('reset'), 'the other side gave the call up'],
  ] as const) {
    const stream = new PassThrough();
    using inbox = inboxOf(stream);
    stream.write(EMPTY);
    await new Promise((resolve) => setImmediate(resolve));
    if (error === undefined) {
      stream.end();
    } else {
      stream.destroy(error);
    }
    expect(await inbox.next()).toHaveLength(1);
    const end = inbox.next();
    await (told === undefined ? expect(end).resolves.toBeUndefined() : expect(end).rejects.toThrow(told));
  }
});
