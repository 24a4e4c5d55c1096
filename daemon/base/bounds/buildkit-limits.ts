/** Bounds on what clients of BuildKit's protocol and their sessions could make grow. Part of `limits`. */
export const buildkitLimits = {
  /** A message of a client: as BuildKit's own server takes. */
  rpcMessageBytesMax: 16 * 1024 * 1024,
  /** A message to a client's session: what the servers in clients take at most. */
  sessionMessageBytesMax: 4 * 1024 * 1024,
  /** Calls of one connection at the same time; a build has four. */
  rpcStreamsMax: 250,
  /** All headers of one call: contexts name each pattern of a `.dockerignore` in one. */
  rpcHeaderBytesMax: 256 * 1024,
  /** What errors carry in trailers: a Dockerfile with the place of an error in it. */
  rpcTrailerBytesMax: 4 * 1024 * 1024,
  /** Memory that HTTP/2 may take for one connection, in MB. */
  rpcConnectionMbMax: 64,
  /** What a sender may have on its way to us without being told to go on: a stream, and a connection. */
  rpcStreamWindowBytes: 1024 * 1024,
  rpcConnectionWindowBytes: 16 * 1024 * 1024,
  /** Of messages of a stream that nobody has looked at: then the sender waits. */
  rpcUnreadBytesMax: 1024 * 1024,
  /** Time for a client to answer a question of its session; some ask a key store of the desktop. */
  sessionAnswerMs: 30_000,
  /** Sessions at a time, each a connection that is kept open: a build has one, a bake one for each directory. */
  sessionsMax: 1024,
  /** Streams that a client has sent in one session, each a file that is kept until it is over; a build has one. */
  sessionUploadsMax: 64,
  /** How long what names a session or a build is waited for: clients open both at the same time. */
  sessionWaitMs: 5_000,
  /** How often a session is asked whether it is still there, and how many failures in a row end it. */
  sessionCheckMs: 5_000,
  sessionFailuresMax: 2,
  /** Contexts kept for the next build of the same directory: how many, their bytes on disk, and how long unused. */
  contextsKeptMax: 16,
  contextsKeptBytesMax: 2 * 1024 ** 3,
  contextKeptMs: 3_600_000,
  /** Checkouts of repositories kept for the next build of the same commit, as long as contexts. */
  checkoutsKeptMax: 16,
  checkoutsKeptBytesMax: 1024 ** 3,
  /** Output kept for who asks for a build's progress: of one step, as BuildKit keeps, and of a whole build. */
  buildStepLogBytesMax: 2 * 1024 * 1024,
  buildLogBytesMax: 32 * 1024 * 1024,
  /** Builds by BuildKit's clients at a time. */
  buildsMax: 256,
  /** What an ended build has reported is kept for a client that asks for it a moment later. */
  buildEndedKeptMs: 10_000,
  buildsEndedMax: 32,
  /**
   * Builds are remembered after their end: so many of the newest, and others until they are so old, as BuildKit does
   * where it is not told otherwise (`builder.history`); all together take so much, and one record without its log.
   */
  buildHistoryEntriesMin: 50,
  buildHistoryAgeMs: 48 * 3_600_000,
  buildHistoryBytesMax: 256 * 1024 * 1024,
  buildHistoryRecordBytesMax: 1024 * 1024,
  /** Those that clients keep at any age. */
  buildHistoryPinnedMax: 500,
  /** How often old ones are looked for, besides the end of each build. */
  buildHistoryLookMs: 600_000,
  /** What has become of builds and a client has not read yet. */
  buildHistoryEventsMax: 1_000,
  /** What a step said before another build waited for it, and is told to that one. */
  buildReplayedLogBytesMax: 256 * 1024,
  /** Operations of all builds at a time: each may be a container with a network. */
  buildRunsMax: 8,
  /** Layers of builds are on the disk so long after the last one, unless an image needs them before. */
  buildLayersSyncMs: 2_000,
  /** Keys of results that are still being made; and what of a step's name its record keeps. */
  buildContentKeysPendingMax: 10_000,
  buildDescriptionMax: 1_000,
  /** Keys that lead to one result. */
  buildContentKeysMax: 64,
  /** Files of secrets of one command together, in memory. */
  buildSecretsBytesMax: 16 * 1024 * 1024,
  /** Connections at a time to a client's key agent from one command, or one checkout. */
  buildAgentConnectionsMax: 32,
  /** Results are looked through so long after a build, and not more often than that. */
  buildCollectDelayMs: 1_000,
  buildCollectMs: 60_000,
  /** A cache elsewhere: its document, its layers and records, and how many of them one build may name. */
  cacheDocumentBytesMax: 16 * 1024 * 1024,
  cacheRecordsMax: 10_000,
  cachesMax: 32,
  /** Layers that one build writes to a cache elsewhere at the same time. */
  cacheUploadsMax: 4,
  /** Operations of a client's graph, actions of one of them, and what it may read of a result at once. */
  llbOperationsMax: 10_000,
  llbActionsMax: 1_000,
  /** Mounts of one command: each is an overlay of its own. */
  llbMountsMax: 256,
  /** Containers that the client of one build has at a time, and processes in one of them. */
  buildContainersMax: 64,
  buildContainerProcessesMax: 64,
  /** Steps of one build that failed and are kept until its end: each is a container at rest. */
  buildFailedStepsMax: 8,
  /** Results of builds that have ended which others may still name, where something keeps them. */
  buildResultsEndedMax: 256,
  /** Processes that a client starts by one stream, one after the other too: their names are kept. */
  buildStreamProcessesMax: 10_000,
  /** Input of one process that it has not read yet; then nothing more is read of what its client sends. */
  buildProcessInputBytesMax: 1024 * 1024,
  /** Signals and sizes of its terminal that it has not been told yet. */
  buildProcessControlsMax: 1_000,
  llbReadBytesMax: 15 * 1024 * 1024,
  llbEntriesMax: 100_000,
  /** Lines of one warning of a client, and bytes of all that it warns of in one build. */
  warningLinesMax: 10_000,
  warningsBytesMax: 16 * 1024 * 1024,
  /** Sources that a client's own policy is asked for in one build, and questions about one of them, as BuildKit. */
  policyVerdictsMax: 1_000,
  policyQuestionsOfSourceMax: 10,
  /** Rules of a source policy, how often they convert one source, and how long its name may become by that. */
  sourceRulesMax: 1_000,
  sourceConversionsMax: 20,
  sourceNameLengthMax: 8_192,
  /** Files of a result that one statement is about: each is 150 bytes of it. */
  attestedFilesMax: 200_000,
  /** Statements of one scan of a result, and bytes of each, as BuildKit takes. */
  attestationsMax: 1_000,
  attestationBytesMax: 40 * 1024 * 1024,
  /** Those that come with an image from a registry. */
  pulledStatementsMax: 20,
  /** Annotations of a manifest or an index as JSON: those of all images are in memory. */
  annotationsBytesMax: 64 * 1024,
  /** Between two pings of a connection of calls: who answers none of two is gone. */
  rpcPingMs: 30_000,
  /** A deadline that a client asks for beyond this is none. */
  rpcDeadlineMsMax: 2 ** 31 - 1,
} as const;
