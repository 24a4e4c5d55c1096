import { invariant, isEngineError } from '../../../daemon/base/errors.ts';
import type { Leases } from '../election.ts';
import { toStoreError } from './channel.ts';
import type { EtcdChannel } from './channel.ts';
import { calls, TARGET } from './messages.ts';

/** etcd's leases. `root`: what stands before every key. */
export function etcdLeases(channel: EtcdChannel, root: string): Leases {
  return {
    grant: async (ttlMs) => {
      // etcd may give a longer life; the leader counts by what it asked for, which is on the safe side.
      const { id } = await channel.ask(calls.grant, { ttlS: Math.ceil(ttlMs / 1000) });
      return id;
    },
    keepAlive: (lease, timeoutMs) => keepAlive(channel, lease, timeoutMs),
    revoke: async (lease) => {
      try {
        await channel.ask(calls.revoke, { id: lease });
      } catch (error) {
        // It has ended by itself.
        if (!isEngineError(error, 'not_found')) {
          throw error;
        }
      }
    },
    claim: async (key, value, lease) => {
      const { succeeded, header } = await channel.ask(calls.transaction, {
        compare: [{ target: TARGET.created, key: root + key, created: 0 }],
        success: [{ put: { key: root + key, value, lease } }],
      });
      invariant(header !== undefined, 'etcd answers with a header');
      return succeeded ? header.revision : undefined;
    },
  };
}

/** The call is a stream; one question a stream is simple, and costs as much as any other call. */
function keepAlive(channel: EtcdChannel, lease: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stream = channel.talk(calls.keepAlive, timeoutMs);
    stream.once('data', ({ ttlS }: { ttlS: number }) => {
      resolve(ttlS > 0);
      stream.end();
    });
    stream.on('error', (error: unknown) => reject(toStoreError(calls.keepAlive, error)));
    stream.on('end', () => reject(toStoreError(calls.keepAlive, new Error('the stream ended'))));
    stream.write({ id: lease });
  });
}
