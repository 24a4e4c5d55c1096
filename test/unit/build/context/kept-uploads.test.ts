import { expect, test, vi } from 'vitest';
import type { BuildSession } from '../../../../api/types/build/session.ts';
import { withResolvers } from '../../../../daemon/base/concurrency/with-resolvers.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { KeptUploads } from '../../../../daemon/build/context/kept-uploads.ts';
import { BuildTree } from '../../../../daemon/build/snapshots/tree.ts';

interface Upload {
  tree: BuildTree;
}

function sessionFor(): { session: BuildSession; end: () => void } {
  const { promise, resolve } = withResolvers<undefined>();
  const session = { id: 's', closed: promise } as Partial<BuildSession> as BuildSession; // Nothing else is asked.
  return { session, end: () => resolve(undefined) };
}

function uploadFor(release: () => void): () => Promise<Upload> {
  const tree = new BuildTree({ kind: 'layers', layerIds: [] }, release);
  return vi.fn(() => Promise.resolve({ tree }));
}

const failing = (): Promise<Upload> => Promise.reject(new Error('the disk is full'));

test('an upload comes once for a session, and is let go of after the session and all who took it', async () => {
  const uploads = new KeptUploads<Upload>();
  const { session, end } = sessionFor();
  const release = vi.fn();
  const receive = uploadFor(release);
  const [first, second] = await Promise.all([
    uploads.take(session, 'a', receive),
    uploads.take(session, 'a', receive),
  ]);
  expect(second.tree).toBe(first.tree);
  expect(receive).toHaveBeenCalledTimes(1);
  first.tree[Symbol.dispose]();
  second.tree[Symbol.dispose]();
  const third = await uploads.take(session, 'a', receive);
  expect(release).not.toHaveBeenCalled();
  end();
  await expect(uploads.take(session, 'a', receive)).rejects.toThrow('the session of the client is over');
  expect(release).not.toHaveBeenCalled();
  third.tree[Symbol.dispose]();
  expect(release).toHaveBeenCalledTimes(1);
});

test('another session has its own', async () => {
  const uploads = new KeptUploads<Upload>();
  const receive = uploadFor(() => undefined);
  await uploads.take(sessionFor().session, 'a', receive);
  await uploads.take(sessionFor().session, 'a', receive);
  expect(receive).toHaveBeenCalledTimes(2);
});

test('what could not be received is asked for again', async () => {
  const uploads = new KeptUploads<Upload>();
  const { session } = sessionFor();
  await expect(uploads.take(session, 'a', failing)).rejects.toThrow('the disk is full');
  const receive = uploadFor(() => undefined);
  await uploads.take(session, 'a', receive);
  expect(receive).toHaveBeenCalledTimes(1);
});

test('what comes when the session is over is let go of', async () => {
  const uploads = new KeptUploads<Upload>();
  const { session, end } = sessionFor();
  const { promise, resolve } = withResolvers<Upload>();
  const taken = uploads.take(session, 'a', () => promise);
  end();
  await session.closed;
  const release = vi.fn();
  resolve({ tree: new BuildTree({ kind: 'layers', layerIds: [] }, release) });
  await expect(taken).rejects.toThrow('the session of the client is over');
  expect(release).toHaveBeenCalledTimes(1);
});

test('one session has no more than there is a bound for', async () => {
  const uploads = new KeptUploads<Upload>();
  const { session } = sessionFor();
  const receive = uploadFor(() => undefined);
  for (let count = 0; count < limits.sessionUploadsMax; count += 1) {
    await uploads.take(session, String(count), receive);
  }
  await expect(uploads.take(session, 'x', receive)).rejects.toMatchObject({ code: 'resource_exhausted' });
  await uploads.take(session, '0', receive);
});
