import { flag, integer, listOf, mapOf, secret, struct, text, texts, unsigned } from '../schema.ts';
import type { Schema } from '../schema.ts';
import { logDriver } from './service.ts';

const labels = secret(mapOf(text));
const externalCa = { Protocol: text, URL: text, Options: labels, CACert: text };

const caConfig = {
  NodeCertExpiry: integer,
  ExternalCAs: listOf(struct(externalCa)),
  SigningCACert: text,
  SigningCAKey: secret(text),
  ForceRotate: unsigned,
};

const specFields = {
  Name: text,
  Labels: labels,
  Orchestration: struct({ TaskHistoryRetentionLimit: integer }),
  Raft: struct({
    SnapshotInterval: unsigned,
    KeepOldSnapshots: unsigned,
    LogEntriesForSlowFollowers: unsigned,
    ElectionTick: integer,
    HeartbeatTick: integer,
  }),
  Dispatcher: struct({ HeartbeatPeriod: integer }),
  CAConfig: struct(caConfig),
  TaskDefaults: struct({ LogDriver: logDriver }),
  EncryptionConfig: struct({ AutoLockManagers: flag }),
};

/** The document of 1.24 knows `ExternalCA`: one, or a list. */
const olderCaConfig = struct({
  ...caConfig,
  ExternalCA: { ...struct(externalCa), items: struct(externalCa) },
});
const olderSpec = struct({ ...specFields, CAConfig: olderCaConfig });

/** Body of POST /swarm/update at 1.55 (`SwarmSpec`), and what older versions say beside. */
export const swarmSpecSchema: Schema = struct(specFields);
export const swarmSpecAccepts: Schema = olderSpec;

const initFields = {
  ListenAddr: text,
  AdvertiseAddr: text,
  DataPathAddr: text,
  DataPathPort: integer,
  ForceNewCluster: flag,
  Spec: swarmSpecSchema,
  AutoLockManagers: flag,
  Availability: text,
  DefaultAddrPool: texts,
  SubnetSize: integer,
};

/** Body of POST /swarm/init at 1.55 (`SwarmInitRequest`), and what older versions say beside. */
export const swarmInitSchema: Schema = struct(initFields);
export const swarmInitAccepts: Schema = struct({ ...initFields, Spec: olderSpec });

/** Body of POST /swarm/join (`SwarmJoinRequest`). */
export const swarmJoinSchema: Schema = struct({
  ListenAddr: text,
  AdvertiseAddr: text,
  DataPathAddr: text,
  RemoteAddrs: texts,
  JoinToken: secret(text),
  Availability: text,
});

/** Body of POST /swarm/unlock. */
export const swarmUnlockSchema: Schema = struct({ UnlockKey: secret(text) });

/** Body of POST /nodes/{id}/update (`NodeSpec`). */
export const nodeSchema: Schema = struct({ Name: text, Labels: labels, Role: text, Availability: text });
