import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { LocalSource } from '../../../daemon/build/graph/op.ts';
import { BuildOps } from '../../../daemon/build/ops/ops.ts';
import type { ReceiveRequest } from '../../../daemon/build/session/contexts.ts';
import type { RunContext } from '../../../daemon/build/solver/ports.ts';

const OP: LocalSource = {
  kind: 'local',
  name: 'context',
  session: 's',
  sharedKey: 'k',
  includePatterns: [],
  excludePatterns: [],
  followPaths: [],
};

const nothing = (): Promise<void> => Promise.resolve();

/** By what key a directory of a session is kept for the next build. */
async function keyOf(more: Partial<LocalSource>): Promise<string> {
  const keys: string[] = [];
  const deps = {
    log: silentLogger,
    sessions: { get: (id: string) => Promise.resolve({ id }) },
    contexts: {
      receive: (_session: unknown, { key }: ReceiveRequest) => {
        keys.push(key);
        return Promise.resolve({ files: new Map(), spool: { fd: -1 }, [Symbol.asyncDispose]: nothing });
      },
    },
  };
  const context = { signal: new AbortController().signal, work: () => undefined };
  // Nothing else is asked for a directory.
  const ops = new BuildOps(deps as unknown as ConstructorParameters<typeof BuildOps>[0]);
  const vertex = { op: { ...OP, ...more }, inputs: [], name: 'n' };
  using _tree = await ops.run(vertex, [], context as unknown as RunContext);
  return keys.join();
}

test('a directory is kept by its key and its patterns, and not where all of it is to come each time', async () => {
  const plain = await keyOf({});
  expect(plain).not.toBe('');
  expect(await keyOf({ session: 'other' })).toBe(plain);
  const others = [{ sharedKey: '' }, { sharedKey: '', session: 'other' }, { followPaths: ['a'] }];
  const keys = await Promise.all([{}, ...others].map(keyOf));
  expect(new Set(keys).size).toBe(keys.length);
  expect(await keyOf({ isSentAnew: true })).toBe('');
});
