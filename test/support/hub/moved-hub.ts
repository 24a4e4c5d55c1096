import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { bringLog, takeLog } from '../../../daemon/hub/deliveries/shared/moved-log.ts';
import { SharedLog } from '../../../daemon/hub/deliveries/shared/shared-log.ts';
import { LocalSet } from '../../../daemon/hub/records/move/local-set.ts';
import type { MovedRecord } from '../../../daemon/hub/records/move/local-set.ts';
import { moveIn } from '../../../daemon/hub/records/move/move-in.ts';
import { moveOut } from '../../../daemon/hub/records/move/move-out.ts';
import { allOf } from '../../../daemon/hub/records/move/origin.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import { EtcdChannel } from '../../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../../swarm/store/etcd/etcd-store.ts';
import { Keyring } from '../../../swarm/store/sealed.ts';

export type MoveArguments = [
  verb: 'in' | 'out' | 'look',
  database: string,
  etcdSocket: string,
  /** Of the store's values, in hexadecimal. */
  key: string,
  node: string,
  /** Tells the records of one test from those of others. */
  name: string,
];

/** What is in both places. */
export interface Moved {
  host: MovedRecord[];
  swarm: MovedRecord[];
  /** How many deliveries of hook 1 are known on the host, and in the swarm. */
  delivered: number;
  shared: number;
}

/** Takes the records of a hub into the store of a swarm or out of it. */
export async function movedHub(...[verb, path, socket, key, node, name]: MoveArguments): Promise<Moved> {
  const given = { clock: systemClock, logger: silentLogger };
  const database = openDatabase(path, silentLogger);
  const local = new LocalSet(database);
  const channel = new EtcdChannel(socket);
  await using store = new EtcdStore({ clock: systemClock, channel });
  await using cluster = await Cluster.open({ ...given, store });
  const sealer = new Keyring([{ id: 1, secret: Buffer.from(key, 'hex') }]);
  using shared = new SwarmRecords({ ...given, cluster, sealer, name });
  using deliveries = new SwarmRecords({ ...given, cluster, sealer, name: `${name}-deliveries` });
  if (verb === 'in') {
    await moveIn({
      local,
      shared,
      node,
      cluster: 'c1',
      isNode: (id) => id === node,
      bring: () => bringLog(database, local, deliveries),
      log: silentLogger,
    });
  } else if (verb === 'out') {
    using log = await SharedLog.open({ records: deliveries, clock: systemClock, log: silentLogger });
    await moveOut({
      local,
      shared,
      node,
      cluster: 'c1',
      saveAside: () => Promise.reject(new Error('this host has nothing of its own')),
      take: (isOrigin) => takeLog(database, log, isOrigin),
    });
  }
  const moved = {
    host: [...local.below('')],
    swarm: await allOf(shared),
    delivered: database.hubDeliveries.list({ hook: 1, from: 1e9, codes: [0, 999], limit: 99 }).length,
    shared: (await deliveries.list('summary/')).records.length,
  };
  database.close();
  channel[Symbol.dispose]();
  return moved;
}
