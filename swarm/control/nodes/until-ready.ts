import type { Cluster } from '../../cluster/cluster.ts';

/** Resolves when the store says that a node is ready: once its agent has a session with the leader. */
export function untilReady(cluster: Pick<Cluster, 'part' | 'subscribe'>, node: string): Promise<void> {
  const isReady = (): boolean => cluster.part('nodeState', node)?.state === 'ready';
  return new Promise((resolve) => {
    const subscription = cluster.subscribe(() => {
      if (isReady()) {
        subscription[Symbol.dispose]();
        resolve();
      }
    });
    if (isReady()) {
      subscription[Symbol.dispose]();
      resolve();
    }
  });
}
