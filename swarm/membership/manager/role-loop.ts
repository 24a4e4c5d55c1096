import { errorText } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { LeaderLoop, Leading } from '../../leader/ports.ts';
import { put } from '../../objects/parts.ts';
import { keyOf } from '../../objects/keys.ts';
import { blockedKey, managerKey } from '../../objects/values.ts';
import type { NodeStateRecord } from '../../objects/node.ts';
import type { Node } from '../../planner/state/entries.ts';
import type { EtcdMembers } from '../../store/etcd/members.ts';
import { nowMs } from './authority.ts';
import { repeatWhile } from './repeat.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  members: EtcdMembers;
  /** This node. */
  node: string;
  /** Lets another manager lead: it demotes this one. */
  resign: () => Promise<void>;
}

const SWEEP_MS = 5_000;

/**
 * Lets the role of each node follow its user's wish. To promote is to say so: the node gets its certificate and joins
 * the store. To demote is to take its member out of the store first, and to say so then.
 */
export function roleLoop(deps: Deps): LeaderLoop {
  return {
    start: (leading) =>
      repeatWhile(
        { clock: deps.clock, logger: deps.logger, what: 'roles of nodes', sweepMs: SWEEP_MS },
        (wake) =>
          leading.cluster.subscribe((changed) => {
            if (changed.some(({ write }) => write.part === 'node')) {
              wake();
            }
          }),
        () => followWishes(deps, leading),
      ),
  };
}

async function followWishes(deps: Deps, leading: Leading): Promise<void> {
  const { cluster, signal } = leading;
  for (const node of cluster.state.nodes.values()) {
    const wish = node.record?.spec.Role;
    const role = node.state?.role;
    if (signal.aborted) {
      return;
    }
    if (wish === 'manager' && role === 'worker') {
      await storeRole(leading, node, 'manager');
      failpoint('swarm.membership.role-raised');
    } else if (wish === 'worker' && role === 'manager') {
      await demote(deps, leading, node);
    }
  }
  await removeForgotten(deps, leading);
  await unblockExpired(deps, leading);
}

async function demote(deps: Deps, leading: Leading, node: Node): Promise<void> {
  if (node.id === deps.node) {
    deps.logger.info({ node: node.id }, 'this manager is demoted: another one is to lead');
    await handOver(deps.members, node.id);
    // Not waited for: it ends this loop, and waits for its end.
    void deps.resign().catch((error: unknown) => {
      deps.logger.warn({ error: errorText(error) }, 'this manager could not resign');
    });
    return;
  }
  const member = (await deps.members.list()).find(({ name }) => name === node.id);
  if (member !== undefined) {
    await deps.members.remove(member.id, leading.signal);
    failpoint('swarm.membership.member-removed');
  }
  await storeRole(leading, node, 'worker');
}

/** Where the own member leads the store: its removal would cost an election. */
async function handOver(members: EtcdMembers, node: string): Promise<void> {
  const listed = await members.list();
  const own = listed.find(({ name }) => name === node);
  const other = listed.find(({ name, learner }) => name !== node && name !== '' && !learner);
  if (other !== undefined && own?.id === (await members.status()).leader) {
    await members.moveLeader(other.id);
    failpoint('swarm.membership.store-handed-over');
  }
}

async function storeRole(leading: Leading, { id }: Node, role: NodeStateRecord['role']): Promise<void> {
  const { cluster } = leading;
  const state = cluster.part('nodeState', id);
  if (state === undefined) {
    return;
  }
  await leading.commit({
    conditions: [{ key: keyOf('nodeState', id), revision: cluster.revisionOf('nodeState', id) }],
    parts: [put('nodeState', { ...state, role })],
    values: role === 'worker' ? [{ kind: 'delete', key: managerKey(id) }] : [],
  });
}

/** Members and addresses of managers that are no nodes any more. */
async function removeForgotten({ members, logger }: Deps, leading: Leading): Promise<void> {
  const { cluster, signal } = leading;
  const forgotten = [...cluster.values('manager/')].filter(
    ({ key }) => cluster.part('node', key.slice('manager/'.length)) === undefined,
  );
  if (forgotten.length === 0) {
    return;
  }
  const listed = await members.list();
  for (const { key } of forgotten) {
    const member = listed.find(({ name }) => key === managerKey(name));
    if (member !== undefined) {
      logger.info(
        { node: member.name },
        'the member of a manager that was removed is removed from the store',
      );
      await members.remove(member.id, signal);
    }
    await leading.commit({ conditions: [], values: [{ kind: 'delete', key }] });
  }
}

/** Certificates that have ended are refused by themselves. */
async function unblockExpired({ clock, logger }: Deps, leading: Leading): Promise<void> {
  const now = nowMs(clock);
  for (const { key, value } of leading.cluster.values(blockedKey(''))) {
    try {
      // Written with the removal of a node, by `Authority.removalOf`.
      const { until } = JSON.parse(value.toString()) as { until: number };
      if (now > until) {
        await leading.commit({ conditions: [], values: [{ kind: 'delete', key }] });
      }
    } catch (error) {
      logger.warn({ key, error: errorText(error) }, 'a removed node stays blocked');
    }
  }
}
