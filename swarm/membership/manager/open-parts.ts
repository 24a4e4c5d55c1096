import { errorText } from '../../../daemon/base/errors.ts';
import type { Rollback } from '../../../daemon/base/rollback.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ManagerAddress } from '../../protocol/session.ts';
import type { Dial } from '../../rpc/port.ts';
import type { RpcServer } from '../../rpc/server.ts';
import type { NodeCertificates } from '../certificates.ts';
import type { DataKeys } from '../keys/data-keys.ts';
import { keyMethods } from '../keys/methods.ts';
import { resealLoop } from '../keys/reseal-loop.ts';
import type { NodeFile, NodeFiles } from '../files.ts';
import type { ManagerPart, NodeDeps, Sealer } from '../ports.ts';
import { Admission, raftOf } from './admission.ts';
import { Authority } from './authority.ts';
import { BlockedNodes } from './blocked-nodes.ts';
import { Issuing } from './issuing.ts';
import { ManagerTable } from './manager-table.ts';
import { membershipMethods } from './methods.ts';
import { roleLoop } from './role-loop.ts';
import { rotationLoop } from './rotation-loop.ts';
import { SealedValues } from './sealed-values.ts';
import type { StoreMember } from './store-member.ts';
import { factsOf } from './swarm-facts.ts';

export interface ManagerLifeDeps<P extends ManagerPart> extends NodeDeps<P> {
  files: NodeFiles;
  certificates: NodeCertificates;
  file: () => NodeFile;
  writeFile: (changes: Partial<NodeFile>) => Promise<void>;
  managers: () => readonly ManagerAddress[];
  dial: Dial;
  server: RpcServer;
  /** The list of blocked nodes has changed. */
  onBlocked: () => void;
}

/** What there is of a manager once its store answers. */
export interface Opened<P> {
  parts: P;
  issuing: Issuing;
  table: ManagerTable;
  /** By the role in the store. */
  isManager: (node: string) => boolean;
}

interface Given {
  cluster: Cluster;
  member: StoreMember;
  /** Of the store; the swarm's own are here. */
  keys: DataKeys;
  /** Takes the ends of what is begun here. */
  end: Rollback;
  onBlockedNodes: (blocked: BlockedNodes) => void;
  resign: () => Promise<void>;
}

/** Begins what membership does on a manager, and then the parts that build on it. */
export async function openParts<P extends ManagerPart>(
  deps: ManagerLifeDeps<P>,
  given: Given,
): Promise<Opened<P>> {
  const { clock, logger, random, dial, server } = deps;
  const { cluster, end, keys } = given;
  const { members, channel } = given.member;
  const { node, cluster: clusterId, advertiseAddr: addr } = deps.file();
  const sealer: Sealer = {
    seal: (name, value) => keys.held.seal(name, value),
    open: (name, sealed) => keys.known.open(name, sealed),
  };
  const sealed = new SealedValues(cluster, sealer);
  const credentials = (): NodeCertificates['credentials'] => deps.certificates.credentials;
  const authority = new Authority({ clock, random, cluster, sealed, credentials, keys });
  const dataKey = (): number => keys.held.newest;
  const table = new ManagerTable({ clock, logger, cluster, dial, node, addr, dataKey });
  end.defer('close the table of managers', () => table[Symbol.dispose]());
  const blocked = new BlockedNodes(cluster, deps.onBlocked);
  end.defer('close the list of blocked nodes', () => blocked[Symbol.dispose]());
  given.onBlockedNodes(blocked);
  deps.onBlocked();
  const issuing = new Issuing({ clock, random, cluster, authority });
  const admission = new Admission({
    clock,
    cluster,
    members,
    authority,
    sealed,
    keyring: () => keys.held,
    clusterToken: clusterId,
  });
  const followed = followRaft(deps, cluster);
  end.defer('end following the settings of the store', () => followed[Symbol.dispose]());
  const methods = server.add([...membershipMethods({ authority, issuing, admission }), ...keyMethods(keys)]);
  end.defer('end serving', () => methods[Symbol.dispose]());
  await table.announce();
  keys.begin(() => table.announce());
  const parts = await deps.startManager({
    clock,
    logger,
    random,
    nodeId: node,
    clusterId,
    addr,
    cluster,
    sealer,
    members,
    channel,
    dial,
    serve: (more) => server.add(more),
    authority,
    managers: table,
    facts: factsOf({ cluster, authority, table }),
    loops: [
      roleLoop({ clock, logger, members, node, resign: given.resign }),
      rotationLoop({ clock, logger, random, authority, sealed }),
      resealLoop({ clock, logger, keyring: () => keys.held, managers: () => table.dataKeys() }),
    ],
  });
  end.defer('end the parts of the manager', async () => parts[Symbol.asyncDispose]());
  logger.info({ node, addr }, 'this node is a manager of the swarm');
  const isManager = (id: string): boolean => cluster.state.nodes.get(id)?.state?.role === 'manager';
  return { parts, issuing, table, isManager };
}

/** Kept for the member's next start: etcd takes these settings at no other time. */
function followRaft<P extends ManagerPart>(
  { file, writeFile, logger }: ManagerLifeDeps<P>,
  cluster: Cluster,
): Disposable {
  const look = (): void => {
    const raft = raftOf(cluster.state.cluster?.spec.Raft ?? {});
    const { member } = file();
    if (member !== undefined && JSON.stringify(raft) !== JSON.stringify(member.raft)) {
      logger.warn(
        { raft },
        'the settings of the store have changed: they count from the next start of its member',
      );
      void writeFile({ member: { ...member, raft } }).catch((error: unknown) => {
        logger.error({ error: errorText(error) }, 'the settings of the store could not be kept');
      });
    }
  };
  look();
  return cluster.subscribe((changed) => {
    if (changed.some(({ write }) => write.part === 'cluster')) {
      look();
    }
  });
}
