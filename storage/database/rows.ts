/**
 * Rows as the domain reads and writes them. JSON columns arrive parsed; times are nanoseconds since the epoch.
 * The schema is drawn in storage/README.md and created by storage/database/migrations.
 */

import type { ManifestListTable } from './manifest-list-rows.ts';

export interface ContainerRow {
  id: string;
  name: string;
  imageId: string;
  /** Layers the container stands on, bottom first; they live as long as the container. */
  layerIds: number[];
  createdNano: bigint;
  /** ContainerSpec of daemon/containers/request/container-spec.ts. */
  spec: unknown;
  /** ContainerState of daemon/containers/state/state.ts. */
  state: unknown;
}

export interface LayerRow {
  /** Small, never reused; names the directory `layers/<id in base 36>` (short: overlay options are one page). */
  id: number;
  /** sha256:..., of the uncompressed tar. */
  diffId: string;
  /** sha256:..., of this layer on its parents (OCI image specification, "chain ID"). */
  chainId: string;
  parentId: number | null;
  sizeBytes: number;
}

export interface ImageRow {
  /** sha256:... of the configuration. */
  id: string;
  /** The configuration's bytes as they came: their digest is the id. */
  config: Buffer;
  layerIds: number[];
  createdNano: bigint;
  lastTaggedNano: bigint | null;
  sizeBytes: number;
}

export interface TagRow {
  /** Canonical repository: `docker.io/library/busybox`. */
  repository: string;
  tag: string;
  /** What it means where no platform is asked for. */
  imageId: string;
  /** Id of the list that it means, that image among others; undefined = the image alone. */
  list?: string;
}

/** What a registry calls an image: `repository@digest`. */
export interface ImageDigestRow {
  /** Canonical repository: `docker.io/library/busybox`. */
  repository: string;
  /** sha256:... of the manifest, or of the index that led to it. */
  digest: string;
  imageId: string;
  /** A build gave it that digest here; no registry is known to have it. */
  isOwn?: true;
  /** The list that it means, and the image in it; without it the image alone. */
  list?: string;
}

/** What an image was made from on this engine: by a commit, or by a step of a build. */
export interface ImageParentRow {
  imageId: string;
  /** `''`: from nothing. The parent may be gone. */
  parentId: string;
  /** Digest of the step of a build that made it; null = a commit. */
  stepKey: string | null;
}

/** A gzip blob that holds a layer, in a repository that has it. */
export interface LayerBlobRow {
  layerId: number;
  /** Canonical repository. */
  repository: string;
  digest: string;
  sizeBytes: number;
}

export interface VolumeRow {
  name: string;
  driver: string;
  options: Record<string, string>;
  labels: Record<string, string>;
  anonymous: boolean;
  createdNano: bigint;
}

/** A holder, such as a container, for which a volume plugin was asked to mount a volume. */
export interface VolumeHoldRow {
  volume: string;
  /** A container's id, or what else mounts it for a while. */
  holder: string;
  /** Where the plugin mounted it; '' = it was asked, and has not answered. */
  mountpoint: string;
}

/** A volume of an invented name that a plugin was asked to make, and that has no row yet. */
export interface VolumeMakingRow {
  volume: string;
  driver: string;
}

/** An object of the swarm, by the name that its last event had. */
export interface SwarmObjectRow {
  type: string;
  id: string;
  name: string;
}

/** A network that a user made. */
export interface NetworkRow {
  id: string;
  name: string;
  driver: string;
  createdNano: bigint;
  /** NetworkSpec of daemon/networks/network.ts. */
  spec: unknown;
}

export interface EventRow {
  timeNano: bigint;
  type: string;
  action: string;
  actorId: string;
  attributes: Record<string, string>;
}

/** Synchronous tables over prepared statements. A unique violation throws EngineError conflict. */
export interface ContainerTable {
  insert(row: ContainerRow): void;
  setState(id: string, state: unknown): void;
  setSpec(id: string, spec: unknown): void;
  setName(id: string, name: string): void;
  remove(id: string): void;
  all(): ContainerRow[];
  /** Ids of rows that could not be read and were taken out, also by earlier daemons: their files are still there. */
  quarantined(): string[];
}

export interface LayerTable {
  /** Returns the new row's id. */
  insert(row: Omit<LayerRow, 'id'>): number;
  byChainId(chainId: string): LayerRow | undefined;
  get(id: number): LayerRow | undefined;
  all(): LayerRow[];
  /** Layers that no image, no container, no child layer and no hub uses. */
  unreferenced(): LayerRow[];
  remove(id: number): void;
  /** An id for a directory about to be filled, reserved so that no other layer gets it. */
  nextId(): number;
  insertWithId(row: LayerRow): void;
}

export interface ImageTable {
  insert(row: ImageRow): void;
  remove(id: string): void;
  all(): ImageRow[];
  setLastTagged(id: string, nano: bigint): void;
}

export interface TagTable {
  set(row: TagRow): void;
  remove(repository: string, tag: string): void;
  all(): TagRow[];
}

export interface ImageParentTable {
  set(row: ImageParentRow): void;
  all(): ImageParentRow[];
}

export interface ImageDigestTable {
  /** A digest in a repository names one image. */
  set(row: ImageDigestRow): void;
  remove(repository: string, digest: string): void;
  all(): ImageDigestRow[];
}

export interface LayerBlobTable {
  /** One blob per layer and repository: the last one seen there. */
  set(row: LayerBlobRow): void;
  remove(layerId: number, repository: string): void;
  of(layerId: number): LayerBlobRow[];
}

export interface VolumeTable {
  insert(row: VolumeRow): void;
  remove(name: string): void;
  all(): VolumeRow[];
}

export interface VolumeHoldTable {
  set(row: VolumeHoldRow): void;
  remove(volume: string, holder: string): void;
  all(): VolumeHoldRow[];
}

export interface VolumeMakingTable {
  add(row: VolumeMakingRow): void;
  /** One that is not there is no error. */
  remove(volume: string): void;
  all(): VolumeMakingRow[];
}

export interface SwarmObjectTable {
  put(row: SwarmObjectRow): void;
  /** One that is not there is no error. */
  remove(row: Pick<SwarmObjectRow, 'type' | 'id'>): void;
  all(): SwarmObjectRow[];
}

export interface NetworkTable {
  insert(row: NetworkRow): void;
  remove(id: string): void;
  all(): NetworkRow[];
}

/** An event with its place in the order of commits: ids grow and are never reused. */
export interface StoredEventRow extends EventRow {
  id: number;
}

export interface EventTable {
  /** Returns the new row's id. */
  insert(row: EventRow): number;
  /** In the order of their ids, `since` and `until` inclusive, only ids past `afterId`; at most `limit` rows. */
  range(options: {
    sinceNano?: bigint;
    untilNano?: bigint;
    afterId?: number;
    limit: number;
  }): StoredEventRow[];
  /** The newest id; 0 when there is none. */
  lastId(): number;
  /** Drops the oldest rows past `keep`. */
  prune(keep: number): void;
}

export interface MetaTable {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
}

/** A layer that the registry of the hub serves: it stays for as long as this row does. */
export interface HubLayerRow {
  /** sha256:... of the layer's tar. */
  digest: string;
  layerId: number;
  /** Of the tar. */
  sizeBytes: number;
}

export interface HubLayerTable {
  set(row: HubLayerRow): void;
  /** True = it was there. */
  remove(digest: string): boolean;
  get(digest: string): HubLayerRow | undefined;
  digests(): string[];
}

/** What a build made and the next one takes: daemon/build/cache. */
export interface BuildRecordRow {
  id: string;
  /** The operation and its inputs; of a cache mount its name. */
  key: string;
  /** As BuildKit's clients name them: `regular`, `exec.cachemount`. */
  type: string;
  /** The topmost layer of a result; it stays as long as this row does. Null = no files, or a directory of ours. */
  layerId: number | null;
  sizeBytes: number;
  createdMs: number;
  lastUsedMs: number;
  usageCount: number;
  description: string;
}

export interface BuildRecordTable {
  insert(row: BuildRecordRow): void;
  /** Counts a use. */
  use(id: string, nowMs: number): void;
  resize(id: string, sizeBytes: number): void;
  setType(id: string, type: string): void;
  /** With the keys that lead to it. */
  remove(id: string): void;
  byKey(key: string): BuildRecordRow | undefined;
  hasLayer(layerId: number): boolean;
  all(): BuildRecordRow[];
  /** The key by contents that an operation had, of a record that is there. */
  contentKey(definitionKey: string): string | undefined;
  setContentKey(definitionKey: string, key: string): void;
}

/** A build that has ended: daemon/build/history. */
export interface BuildHistoryRow {
  ref: string;
  completedMs: number;
  isPinned: boolean;
  /** Of the record and of all that belongs to it, as they are stored. */
  sizeBytes: number;
  /** JSON. */
  record: string;
}

/** Bytes that belong to a build, deflated. */
export interface BuildHistoryBlobRow {
  /** sha256:... of what they are when they are inflated. */
  digest: string;
  /** The same. */
  sizeBytes: number;
  data: Buffer;
}

export interface BuildHistoryTable {
  /** With all that belongs to it; in place of an earlier build of the same name. */
  put(row: BuildHistoryRow, blobs: readonly BuildHistoryBlobRow[]): void;
  pin(ref: string, pinned: { isPinned: boolean; record: string }): void;
  /** With what belongs to it. True = it was there. */
  remove(ref: string): boolean;
  /** JSON of a record; undefined = there is none. */
  record(ref: string): string | undefined;
  records(): string[];
  /** What retention is decided by. */
  sizes(): Omit<BuildHistoryRow, 'record'>[];
  blob(digest: string): BuildHistoryBlobRow | undefined;
  /** Bytes of one, inflated; undefined = there is none. */
  blobSize(digest: string): number | undefined;
}

/** A record of the hub: daemon/hub/records/port.ts. */
export interface HubRecordRow {
  key: string;
  /** JSON. */
  value: string;
  revision: number;
}

export interface HubRecordTable {
  get(key: string): HubRecordRow | undefined;
  /** Rows whose keys begin with `prefix` and are longer, in order of keys, from behind `after` on. */
  below(page: { prefix: string; after: string; limit: number }): HubRecordRow[];
  put(row: HubRecordRow): void;
  /** Whether it was there. */
  remove(key: string): boolean;
}

export interface ClusterEventRow {
  /** `namespace/name` */
  key: string;
  /** JSON without its resource version. */
  body: string;
  revision: number;
}

export interface ClusterEventTable {
  /** In order of keys, from behind `key` on. */
  after(key: string, limit: number): ClusterEventRow[];
  has(key: string): boolean;
  put(row: ClusterEventRow): void;
  remove(key: string): void;
}

/** A delivery of a webhook: daemon/hub/deliveries/delivery.ts. */
export interface HubDeliveryRow {
  /** Unique. */
  attempt: string;
  hook: number;
  deliveredMs: number;
  code: number;
  /** JSON. */
  summary: string;
  body: Buffer;
}

export interface HubDeliveryListed {
  id: number;
  summary: string;
}

export interface HubDeliveryTable {
  /** Nothing where one with the same attempt is there. */
  insert(row: HubDeliveryRow): void;
  has(attempt: string): boolean;
  /** Newest first, from id `from` on. `codes`: the least and the most. */
  list(query: {
    hook: number;
    from: number;
    codes: readonly [number, number];
    limit: number;
  }): HubDeliveryListed[];
  /** Ids behind `than`, the nearest first. */
  newer(query: { hook: number; than: number; codes: readonly [number, number]; limit: number }): number[];
  get(hook: number, id: number): (HubDeliveryListed & { body: Buffer }) | undefined;
  clear(): void;
  /** Removes what is older, what is past a count of one hook, and the oldest past a size; `limit` rows of each. */
  prune(bounds: { beforeMs: number; keepOfHook: number; keepBytes: number; limit: number }): void;
}

export interface Database {
  readonly containers: ContainerTable;
  readonly layers: LayerTable;
  readonly images: ImageTable;
  readonly tags: TagTable;
  readonly manifestLists: ManifestListTable;
  readonly digests: ImageDigestTable;
  readonly parents: ImageParentTable;
  readonly blobs: LayerBlobTable;
  readonly volumes: VolumeTable;
  readonly volumeHolds: VolumeHoldTable;
  readonly volumeMakings: VolumeMakingTable;
  readonly networks: NetworkTable;
  readonly swarmObjects: SwarmObjectTable;
  readonly hubRecords: HubRecordTable;
  readonly hubLayers: HubLayerTable;
  readonly hubDeliveries: HubDeliveryTable;
  readonly buildRecords: BuildRecordTable;
  readonly buildHistory: BuildHistoryTable;
  readonly clusterRecords: HubRecordTable;
  readonly clusterEvents: ClusterEventTable;
  readonly events: EventTable;
  readonly meta: MetaTable;
  /**
   * Runs synchronously in one transaction. `durable` syncs the log before it returns. Otherwise a sync follows within
   * milliseconds: the process may die at any moment, but a power cut within them loses the change.
   */
  transaction<T>(change: () => T, options?: { durable?: boolean }): T;
  /**
   * Resolves when every transaction up to here survives a power cut: one sync for all that wait at a time, and not on
   * this thread. Throws internal when the disk refuses.
   */
  synced(): Promise<void>;
  integrityProblems(): string[];
  readonly sqliteVersion: string;
  close(): void;
}
