/**
 * Every bound of the engine, with its name and reason. Nothing is unlimited: a queue, a body, a retry or a wait that
 * has no entry here is a bug.
 */
export const limits = {
  /** A JSON request body. The largest real ones (compose with many labels) are a few hundred kB. */
  requestBodyBytesMax: 4 * 1024 * 1024,
  /** JSON nesting of a request body; deeper input only serves to exhaust the stack. */
  requestJsonDepthMax: 32,
  /** Time a client may take to send its request headers. */
  requestHeadersTimeoutMs: 60_000,
  /** An image manifest, as in the OCI distribution specification. */
  manifestBytesMax: 4 * 1024 * 1024,
  imageConfigBytesMax: 8 * 1024 * 1024,
  imageLayersMax: 512,
  /** Lower directories of one overlay mount that the kernel takes in one page of options. */
  overlayLowersMax: 128,
  /** Entries of one layer and bytes of one pax record: stops tar bombs long before memory or inodes run out. */
  layerEntriesMax: 10_000_000,
  paxRecordBytesMax: 1024 * 1024,
  /** `/etc/passwd` and `/etc/group` of an image. */
  accountFileBytesMax: 1024 * 1024,
  /** Time SQLite waits for a lock that another program (a backup, a person) holds on the database. */
  databaseBusyMs: 5_000,
  /** Events kept in SQLite; older ones are pruned. */
  eventsKeptMax: 100_000,
  /** New events after which the oldest are pruned: often enough that one pruning takes about a millisecond. */
  eventsPruneInterval: 256,
  /** Stored events read at a time for one client; between two pages the event loop gets its turn. */
  eventReplayPageRows: 256,
  /** Events queued for one subscriber; past that its connection is cut, never silently thinned. */
  eventSubscriberQueueMax: 8192,
  /** Bytes queued for one attached client before the engine stops reading ahead for it. */
  attachBufferBytesMax: 1024 * 1024,
  /** Restart back-off: first delay, growth factor 2, cap, and the up-time that resets it (moby restartmanager). */
  restartDelayFirstMs: 100,
  restartDelayMaxMs: 60_000,
  restartResetAfterMs: 10_000,
  /** Default time between stop signal and SIGKILL. */
  stopTimeoutDefaultS: 10,
  /** Time a killed process gets to vanish before the API answers that it did not. */
  killWaitMs: 10_000,
  /** One call of a helper program (runc, tini --version, ...). */
  commandTimeoutMs: 30_000,
  /** Containers created or started at the same time; more wait in line. Two per core keeps runc from thrashing. */
  startConcurrency: 8,
  /** Time for clients to be told good-bye at shutdown. */
  shutdownGraceMs: 1_500,
} as const;
