import path from 'node:path';
import { createClusterApi, type ClusterApi } from '../../../api/cluster/cluster-api.ts';
import { endWatches } from '../../../api/cluster/events/answers/watch.ts';
import type { OwnAddress } from '../../../api/own-listener.ts';
import type { ManagerEvents } from '../../../swarm/told-events/ports.ts';
import { systemClock } from '../../base/clock.ts';
import type { EnginePorts } from '../../../api/types/ports.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { Images } from '../../images/images.ts';
import { parseListenAddress } from '../config/hosts.ts';
import type { Config } from '../config/settings.ts';
import { Aside } from '../hub/aside.ts';
import type { ComposedHub } from '../hub/compose-hub.ts';
import type { Base } from '../parts.ts';
import { pem } from '../config/pem.ts';
import type { Membership } from '../records/standing.ts';
import { ENGINE_VERSION } from '../version.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { ClusterPlace } from './cluster-place.ts';
import type { Happening } from '../../cluster/events/emit/happening.ts';
import { openEvents } from './open-events.ts';
import { auditRecord } from './telling/audit-record.ts';
import { newsHappening, repositoryHappening } from './telling/hub-happenings.ts';
import type { HubListener } from './telling/hub-listeners.ts';
import { NodeEvents } from './telling/node-events.ts';
import { TaskTeller, type Telling } from './telling/task-teller.ts';
import { healthHappening, pullHappening, tellEvents } from './telling/tell-events.ts';
import { openTargets } from './compose-targets.ts';

export interface ComposedCluster {
  api: ClusterApi;
  address: OwnAddress;
  /** Ends watches. */
  endStreams: () => void;
}

/** The place is there also without a listener: what a swarm has of its records must not be lost with it. */
export function composeClusterPlace(
  { deps: { config, log }, database }: Base,
  membership: () => Membership | undefined,
): ClusterPlace {
  const aside = new Aside(path.join(config.dataRoot, 'cluster', 'aside'));
  const clock = systemClock;
  const listeners =
    config.clusterAddress === ''
      ? {}
      : { taskTeller: new TaskTeller({ clock, log }), nodes: new NodeEvents() };
  return new ClusterPlace({ clock, log, database, aside, membership, ...listeners });
}

interface Around {
  place: ClusterPlace;
  hub: ComposedHub | undefined;
  engine: EnginePorts;
  swarm: { managerEvents: ManagerEvents };
  images: Pick<Images, 'whenPullFails'>;
}

/** To be called when swarm and hub are there. Throws invalid_argument that names the setting. */
export async function openCluster(
  { deps: { config, log }, database, host }: Base,
  parts: Rollback,
  { place, hub, engine, swarm, images }: Around,
): Promise<ComposedCluster | undefined> {
  parts.defer('end the cluster interface', () => place[Symbol.asyncDispose]());
  const listen = parseListenAddress('cluster.address', config.clusterAddress);
  if (listen === undefined) {
    return undefined;
  }
  const address = { host: listen.host, port: listen.port, tls: tlsOf(config) };
  const identity = new ClusterIdentity({
    userName: hub?.userName,
    users: config.clusterUsers,
    isUnsignedTaken: config.clusterTargetsUnsigned,
  });
  const telling = tellEvents({
    engine: engine.events,
    events: () => place.cluster.events,
    log,
    hostname: host.facts.hostname,
    meta: database.meta,
    isWorker: () => engine.swarm.role === 'active/worker',
    managers: swarm.managerEvents,
    audit: hub && (async (happening) => await writeDown(hub, happening)),
  });
  hub?.listeners.listen(hubListener(telling));
  images.whenPullFails((failed) => telling.tell(pullHappening(failed, systemClock.nowNano())));
  place.taskTeller?.open(telling);
  place.nodes?.open(telling);
  // Events that are there again, in this place or another, may lack what happened meanwhile.
  place.whenOpened(() => hub?.listeners.tellAgain());
  parts.defer('end telling events', () => telling[Symbol.dispose]());
  await place.start(async (stores) => {
    const events = await openEvents(stores, { database, config, log });
    const targets = await openTargets(stores, {
      engine,
      certificate: address.tls,
      clock: systemClock,
      log,
      onHealth: (news) => telling.tell(healthHappening(news, systemClock.nowNano())),
    });
    return {
      events,
      targets: targets.port,
      gate: targets.gate,
      websiteStatus: (websites) => targets.websiteStatus(websites),
      [Symbol.asyncDispose]: async () => {
        await targets[Symbol.asyncDispose]();
        await events[Symbol.asyncDispose]();
      },
    };
  });
  const api = createClusterApi({
    ports: { identity, events: () => place.cluster.events, targets: () => place.cluster.targets },
    log,
    version: ENGINE_VERSION,
  });
  return { api, address, endStreams: endWatches };
}

/** What happens at the hub. */
function hubListener(telling: Telling): HubListener {
  return {
    audited: (record) => {
      const happening = repositoryHappening(record, Number(systemClock.nowNano() / 1_000_000n));
      if (happening !== undefined) {
        telling.tell(happening);
      }
    },
    news: (news) => telling.tell(newsHappening(news, systemClock.nowNano())),
  };
}

/** Where a hub is away, nobody writes it down. */
async function writeDown(hub: ComposedHub, happening: Happening): Promise<void> {
  const record = auditRecord(happening);
  if (record !== undefined) {
    await hub.audit.add(record);
  }
}

function tlsOf({ clusterTlsCert, clusterTlsKey, clusterTlsClientCa }: Config): OwnAddress['tls'] {
  return clusterTlsCert === ''
    ? undefined
    : {
        certificate: pem('cluster.tls-cert', clusterTlsCert),
        key: pem('cluster.tls-key', clusterTlsKey),
        ...(clusterTlsClientCa !== '' && { clientCa: pem('cluster.tls-client-ca', clusterTlsClientCa) }),
      };
}
