import type { EngineError } from '../../../daemon/base/errors.ts';
import { keyOf } from '../../../swarm/objects/keys.ts';
import { put } from '../../../swarm/objects/parts.ts';
import type { RootChange } from '../../../swarm/control/ports.ts';
import { expect } from 'vitest';
import { waitFor } from '../wait-for.ts';
import { TestNode } from './test-node.ts';

/** Hosts of one test, all gone after it. */
export class NodeHosts implements AsyncDisposable {
  readonly #nodes: TestNode[] = [];
  static #next = 1;

  make(): TestNode {
    const node = new TestNode(NodeHosts.#next);
    NodeHosts.#next += 1;
    this.#nodes.push(node);
    return node;
  }

  /** A host that has begun a swarm. */
  async first(options: object = {}): Promise<TestNode> {
    const node = this.make();
    await node.node.init({ ...node.addresses, ...options });
    return node;
  }

  async joined(to: TestNode, role: 'worker' | 'manager'): Promise<TestNode> {
    const node = this.make();
    const tokens = await to.manager.context.authority.tokens();
    try {
      await node.node.join({ ...node.addresses, RemoteAddrs: [to.addr], JoinToken: tokens[role] });
    } catch (error) {
      // On a busy machine it may take longer than a client is kept waiting.
      if (!String(error).includes('will continue in the background')) {
        throw error;
      }
      await waitFor(() => expect(roleOf(node)).toBe(`active ${role}`));
    }
    return node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes.splice(0).toReversed()) {
      await node[Symbol.asyncDispose]();
    }
  }
}

/** Code and message of a failure. */
export async function failed(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'answered',
    ({ code, message }: EngineError) => `${code}: ${message}`,
  );
}

export function roleOf(node: TestNode): string {
  const { LocalNodeState, ControlAvailable } = node.node.info();
  return `${LocalNodeState} ${ControlAvailable ? 'manager' : 'worker'}`;
}

/** Managers as one of them sees them, with their reachability. */
export const managersOf = (node: TestNode): string[] =>
  node.manager.context.managers
    .list()
    .map(({ node: id, reachability }) => `${id} ${reachability}`)
    .toSorted();

/** The user's wish for a node's role. */
export async function wish(by: TestNode, node: string, Role: 'worker' | 'manager'): Promise<void> {
  const { cluster } = by.manager.context;
  const record = cluster.part('node', node)!;
  await cluster.commit({
    conditions: [{ key: keyOf('node', node), revision: cluster.revisionOf('node', node) }],
    parts: [put('node', { ...record, spec: { ...record.spec, Role } })],
  });
}

/** As an update of the swarm does it. */
export async function changeRoot(by: TestNode, change: Partial<RootChange>): Promise<void> {
  const { cluster, authority } = by.manager.context;
  const whole: RootChange = {
    wish: { forceRotate: 0, externals: [] },
    rotateWorkerToken: false,
    rotateManagerToken: false,
    rotateUnlockKey: false,
    autoLock: false,
    ...change,
  };
  const { conditions, writes } = await authority.prepare(whole);
  await cluster.commit({ conditions, values: writes });
  await authority.applied(whole);
}

/** Waiting for nodes of a swarm: not for a time, and not for ever. */
export const settled = { timeout: 40_000, interval: 100 };
export const SLOW = { timeout: 120_000 };
