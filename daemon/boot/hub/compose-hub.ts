import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import { createHubApi, type HubApi } from '../../../api/hub/hub-api.ts';
import type { OwnAddress } from '../../../api/own-listener.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { TextIndex } from '../../../storage/database/text-index.ts';
import type { BlobStore } from '../../../swarm/blobs/ports.ts';
import type { Swarm } from '../../../swarm/swarm.ts';
import type { Database } from '../../../storage/database/rows.ts';
import { systemClock } from '../../base/clock.ts';
import { EngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { LocalDeliveryLog } from '../../hub/deliveries/local-log.ts';
import { SharedLog } from '../../hub/deliveries/shared/shared-log.ts';
import { Hub, type HubDeps } from '../../hub/hub.ts';
import { DEFAULT_RULES, type RateRules } from '../../hub/limits/rules.ts';
import { NoteThread } from '../../hub/notes/reader/note-thread.ts';
import { HeldBlobs } from '../../hub/registry/files/held-blobs.ts';
import { handOver } from '../../hub/registry/peers/hand-over.ts';
import { LocalRecords } from '../../hub/records/local-records.ts';
import { parseListenAddress, type ListenAddress } from '../config/hosts.ts';
import type { OwnHub } from '../../images/hub/own-hub.ts';
import type { Images } from '../../images/images.ts';
import type { Config } from '../config/settings.ts';
import { pem } from '../config/pem.ts';
import { ENGINE_VERSION } from '../version.ts';
import { filesWithout, type Aside } from './aside.ts';
import { currentHub } from './current-hub.ts';
import type { EngineHub } from './engine-hub.ts';
import { EngineServices } from './engine-services.ts';
import type { HubPlace, OpenHub } from './hub-place.ts';
import { HubListeners } from '../cluster/telling/hub-listeners.ts';
import { swarmTurns } from './swarm-turns.ts';
import { webhookSettings } from './webhook-settings.ts';

export interface ComposedHub {
  api: HubApi;
  address: OwnAddress;
  /** For the engine of this host. */
  own: OwnHub & BlobStore;
  /** Where clients find it. */
  baseUrl: string;
  /** By which its images are named. */
  hosts: readonly string[];
  /** Of the hub as it is then. */
  workflowTokens: EngineHub['workflowTokens'];
  deployments: EngineHub['deployments'];
  userName: Hub['userName'];
  whenOpened(listener: () => void): void;
  /** What was copied to other managers since the start, as too few held it. */
  repairs: CopiedBlobs;
  audit: EngineHub['audit'];
  listeners: HubListeners;
}

interface CopiedBlobs {
  copies: number;
  bytes: number;
}

interface Around {
  config: Config;
  database: Database;
  log: Logger;
  swarm: Swarm;
  place: HubPlace;
  aside: Aside;
  images: Pick<Images, 'hubLayers'>;
  websiteStatus: NonNullable<HubDeps['websiteStatus']>;
}

/** What depends on where the records are. */
type Placing = Pick<HubDeps, 'records' | 'webhooks' | 'files' | 'host' | 'aside'>;

/** The hub and its HTTP; undefined where none is configured. Throws invalid_argument that names the setting. */
export async function composeHub({
  config,
  database,
  log,
  swarm,
  images,
  place,
  aside,
  websiteStatus,
}: Around): Promise<ComposedHub | undefined> {
  const listen = parseListenAddress('hub.address', config.hubAddress);
  if (listen === undefined) {
    return undefined;
  }
  const address = { host: listen.host, port: listen.port, tls: tlsOf(config) };
  const baseUrl = config.hubUrl === '' ? urlOf(address) : config.hubUrl;
  const hosts = hostsOf(baseUrl, listen);
  const engine = new EngineServices({ services: () => swarm.services, hosts });
  const files = await HubBlobFiles.open(path.join(config.dataRoot, 'hub'));
  const clock = systemClock;
  const room = files.room();
  const webhooks = webhookSettings(config, { isLoopback: listen.isLoopback, services: engine });
  const { hubLayers: layers } = images;
  const shared = { clock, log, baseUrl, layers, peers: swarm.blobs, websiteStatus };
  const repairs: CopiedBlobs = { copies: 0, bytes: 0 };
  const listeners = new HubListeners(place);
  const given = {
    ...shared,
    repaired: (bytes: number) => {
      repairs.copies += 1;
      repairs.bytes += bytes;
    },
    ...listeners.told,
    rules: rulesOf(config),
    quotaBytes: config.hubQuota,
    replicas: config.hubReplicas,
  };
  const opened = (made: Placing): Promise<OpenHub> => openOver({ ...given, ...made });
  const held = new HeldBlobs(files, layers);
  await place.start({
    handOver: (signal) => handOver({ files: held, peers: swarm.blobs, log }, signal),
    overHost: (gate) =>
      opened({
        records: gate(new LocalRecords(database, room)),
        webhooks: { ...webhooks, deliveries: new LocalDeliveryLog(database, room) },
        files: filesWithout(files, aside.digests({ isHostAside: false })),
        aside: () => aside.sources({ isHostAside: false }),
      }),
    overSwarm: async (managed, sets, gate) => {
      const deliveries = await SharedLog.open({ records: sets.deliveries, clock, log });
      const turns = swarmTurns({ swarm: managed, sets, gate, deliveries, clock, log });
      const hub = await opened({
        records: gate(sets.records),
        host: managed.node,
        webhooks: { ...webhooks, deliveries, turns },
        files: filesWithout(files, aside.digests({ isHostAside: true })),
        aside: () => aside.sources({ isHostAside: true }),
      });
      return {
        ...hub,
        [Symbol.dispose]: () => {
          hub[Symbol.dispose]();
          deliveries[Symbol.dispose]();
        },
      };
    },
  });
  const own = ownHub({ files, layers, hosts, place });
  return { api: place, address, own, baseUrl, hosts, repairs, listeners, ...currentHub(place) };
}

async function openOver(deps: Omit<HubDeps, 'textIndex' | 'noteReader'>): Promise<OpenHub> {
  const { clock, log, baseUrl } = deps;
  const textIndex = new TextIndex();
  const noteReader = new NoteThread({ clock, log });
  const hub = await Hub.open({ ...deps, textIndex, noteReader });
  const api = createHubApi({ hub, pages: hub.pages, log, baseUrl, version: ENGINE_VERSION });
  const { workflowTokens, deployments, arrivals, audit } = hub;
  const end = (): void => {
    hub[Symbol.dispose]();
    textIndex[Symbol.dispose]();
    noteReader[Symbol.dispose]();
  };
  const userName: Hub['userName'] = (credentials) => hub.userName(credentials);
  const keepCounts: Hub['keepCounts'] = () => hub.keepCounts();
  return { api, workflowTokens, deployments, arrivals, audit, userName, keepCounts, [Symbol.dispose]: end };
}

/** What the engine and the swarm have of the hub of this host. */
function ownHub({
  files,
  layers,
  hosts,
  place,
}: {
  files: HubBlobFiles;
  layers: Images['hubLayers'];
  hosts: readonly string[];
  place: HubPlace;
}): ComposedHub['own'] {
  const arrivals = (): OpenHub['arrivals'] => {
    if (place.hub === undefined) {
      throw new EngineError('unavailable', place.reason);
    }
    return place.hub.arrivals;
  };
  return {
    isOwn: (domain) => hosts.includes(domain),
    openFile: (digest) => files.open(digest),
    open: async (digest) => (await files.open(digest)) ?? (await layers.open(digest)),
    offered: async (offer) => await arrivals().offered(offer),
    take: async (offer, pieces) => await arrivals().take(offer, pieces),
  };
}

function tlsOf(config: Config): OwnAddress['tls'] {
  return config.hubTlsCert === ''
    ? undefined
    : {
        certificate: pem('hub.tls-cert', config.hubTlsCert),
        key: pem('hub.tls-key', config.hubTlsKey),
      };
}

function rulesOf({ hubLimits }: Config): RateRules {
  return {
    anonymousPerHour: hubLimits['anonymous-per-hour'] ?? DEFAULT_RULES.anonymousPerHour,
    userPerHour: hubLimits['user-per-hour'] ?? DEFAULT_RULES.userPerHour,
    applicationPerHour: hubLimits['application-per-hour'] ?? DEFAULT_RULES.applicationPerHour,
    workflowPerHour: hubLimits['workflow-per-hour'] ?? DEFAULT_RULES.workflowPerHour,
    enterprisePerHour: hubLimits['enterprise-per-hour'] ?? DEFAULT_RULES.enterprisePerHour,
    concurrent: hubLimits.concurrent ?? DEFAULT_RULES.concurrent,
    pointsPerMinute: hubLimits['points-per-minute'] ?? DEFAULT_RULES.pointsPerMinute,
    contentPerMinute: hubLimits['content-per-minute'] ?? DEFAULT_RULES.contentPerMinute,
    processorPerMinute: hubLimits['processor-per-minute'] ?? DEFAULT_RULES.processorPerMinute,
    contentPerHour: hubLimits['content-per-hour'] ?? DEFAULT_RULES.contentPerHour,
    registryAnonymousPerMinute:
      hubLimits['registry-anonymous-per-minute'] ?? DEFAULT_RULES.registryAnonymousPerMinute,
    registryUserPerMinute: hubLimits['registry-user-per-minute'] ?? DEFAULT_RULES.registryUserPerMinute,
  };
}

/** What clients of this host may call it: `127.0.0.1:5010`. */
function hostsOf(baseUrl: string, { host, port }: ListenAddress): string[] {
  const addresses = host === undefined ? Object.values(networkInterfaces()).flat() : [{ address: host }];
  const named = addresses.flatMap((one) => (one === undefined ? [] : [one.address]));
  const hosts = ['localhost', '127.0.0.1', ...named].map((one) => (one.includes(':') ? `[${one}]` : one));
  return [...new Set([new URL(baseUrl).host, ...hosts.map((one) => `${one}:${port}`)])];
}

function urlOf({ host = hostname(), port, tls }: OwnAddress): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
