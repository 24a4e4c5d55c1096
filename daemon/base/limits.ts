import { buildkitLimits } from './bounds/buildkit-limits.ts';
import { clusterLimits } from './bounds/cluster-limits.ts';
import { hubLimits } from './bounds/hub-limits.ts';
import { swarmLimits } from './bounds/swarm-limits.ts';

/**
 * Bounds on all that clients, images, registries, containers and the files of others could make grow, with their
 * reasons. Nothing is unlimited: a queue, a body, a retry or a wait without a bound is a bug. Numbers that a format, a
 * protocol or the kernel sets, and the pace of a loop, stand where they are used.
 */
export const limits = {
  /** A registry or token server that does not begin to answer is given up. */
  registryResponseTimeoutMs: 30_000,
  /** A client that got no message for so long is told which server the engine waits for. */
  waitingToldMs: 800,
  /** A client that cannot be told of waiting gets its answer when a name is not resolved by then. */
  lookupWaitMs: 800,
  /** A proxy that does not pass a connection on is given up; it has to look up a name and connect itself. */
  proxyConnectTimeoutMs: 30_000,
  /** Idle connections to registries kept for the requests of one pull or push. */
  registryConnectionsKept: 8,
  /** Pauses before a request that a registry could not answer is sent again. */
  registryRetryDelaysMs: [250, 1_000, 2_000, 4_000, 8_000],
  /** Longest pause that a registry may ask for (Retry-After). */
  registryRetryAfterMaxMs: 60_000,
  /** Bytes of a blob after which earlier failures no longer count: the connection is bad, but it gets there. */
  registryProgressBytes: 1024 * 1024,
  /** Time in which a download has to bring `registrySlowBytes`, or it is begun on another connection. */
  registrySlowMs: 30_000,
  registrySlowBytes: 32 * 1024,
  /** Redirects followed for one request. */
  registryRedirectsMax: 5,
  /** Tags of one repository pulled at once, and pages of a registry's lists that are read. */
  registryTagsMax: 10_000,
  registryPagesMax: 200,
  /** Results of a search: as many as registries give at most, and as are shown when the client gives no number. */
  registrySearchMax: 100,
  registrySearchDefault: 25,
  /** A token server's answer. */
  registryTokenBytesMax: 1024 * 1024,
  /** What of a registry's error document is read, and shown. */
  registryErrorBytesMax: 64 * 1024,
  registryMessageLengthMax: 500,
  /** A message of a client's websocket: input typed or pasted. */
  websocketMessageBytesMax: 1024 * 1024,
  /** A JSON request body. The largest real ones (compose with many labels) are a few hundred kB. */
  requestBodyBytesMax: 4 * 1024 * 1024,
  /** JSON nesting of a request body; deeper input only serves to exhaust the stack. */
  requestJsonDepthMax: 32,
  /** A regular expression in a filter: the work of a match grows with it. */
  filterPatternLengthMax: 512,
  /** Time a client may take to send its request headers. */
  requestHeadersTimeoutMs: 60_000,
  /** All headers of a request. X-Registry-Config carries the credentials of every registry a client knows. */
  requestHeaderBytesMax: 64 * 1024,
  /** Time a client may take to send a JSON body. */
  requestBodyTimeoutMs: 60_000,
  /** Idle time after which a kept connection is closed. Long, as pooled clients do not expect it to be. */
  connectionIdleMs: 300_000,
  /** Time to read the refusal, for a client that is still sending its request. */
  lingerMs: 1_000,
  /** An image manifest, as in the OCI distribution specification. */
  manifestBytesMax: 4 * 1024 * 1024,
  imageConfigBytesMax: 8 * 1024 * 1024,
  imageLayersMax: 512,
  /** Lower directories of one overlay mount that the kernel takes in one page of options. */
  overlayLowersMax: 128,
  /** Entries of one layer and bytes of one pax record: stops tar bombs long before memory or inodes run out. */
  layerEntriesMax: 10_000_000,
  paxRecordBytesMax: 1024 * 1024,
  /** Nesting of directories in a layer. */
  layerDepthMax: 5000,
  /** Extents of a sparse file in a tar, and its size with holes: what every file system can hold. */
  sparseExtentsMax: 100_000,
  sparseFileBytesMax: 8 * 1024 ** 4,
  /** Space that unpacking an image must leave: the database and running containers still have to write. */
  diskReserveBytes: 64 * 1024 * 1024,
  /** Members of an image tarball; real ones have three per layer. */
  archiveMembersMax: 100_000,
  /** What is read of one tarball's documents, configurations and statements: much of it is kept until it is loaded. */
  archiveDocumentBytesMax: 256 * 1024 * 1024,
  /** JSON nesting of image metadata. */
  imageJsonDepthMax: 64,
  /** Layers written out at the same time by `save`; each blocks a thread while its client is slow. */
  layerReadersMax: 4,
  /** A layer worker that has worked ends after this time without work and gives its memory back. */
  layerWorkerIdleMs: 5_000,
  /** What of a tree becomes a layer without an overlay: COPY of a program, or of a folder with a few files. */
  composedTreeFilesMax: 1_000,
  composedTreeBytesMax: 16 * 1024 * 1024,
  /** New objects of a layer worker: they die at once, and V8 would let 48 MB of them gather in each thread. */
  layerWorkerYoungMbMax: 8,
  /** Arenas that all threads allocate from; buffers from this size on are mapped, and unmapped when they are freed. */
  mallocArenasMax: 2,
  mallocMappedBytesMin: 128 * 1024,
  /** Free memory at the end of the heap that is not given back: asking for it again would cost a call each time. */
  mallocKeptBytesMax: 4 * 1024 * 1024,
  /** Entries of a directory that is deleted without a thread of its own. */
  smallTreeEntries: 48,
  /** Nesting of directories that are copied out of a container or into it, as of layers, and bytes of their paths. */
  archiveDepthMax: 5000,
  archivePathBytesMax: 64 * 1024,
  /** Tars of containers' files written out at the same time; each blocks a thread while its client is slow. */
  archiveReadersMax: 8,
  /** Trees deleted at the same time, behind the answers. */
  archiveRemoversMax: 2,
  /** Memory that the host's xz or zstd may take for what a client sends; their largest presets need 65 and 128 MB. */
  decompressMemoryBytesMax: 256 * 1024 * 1024,
  /** A Dockerfile, and its instructions: real ones have a few hundred lines. */
  dockerfileBytesMax: 1024 * 1024,
  dockerfileInstructionsMax: 4096,
  /** What a build gets from elsewhere: redirects of one download, time for it or for a clone of a repository. */
  downloadRedirectsMax: 10,
  downloadTimeoutMs: 3_600_000,
  /** What is read, and shown, of the answer of a server that refuses. */
  downloadErrorBytesMax: 16 * 1024,
  downloadErrorLengthMax: 500,
  /** How often the disk is looked at while git writes to it. */
  gitSpaceCheckMs: 250,
  /** Files of a build's context, each of which holds about 500 bytes of memory until the build ends; their nesting. */
  contextEntriesMax: 250_000,
  contextDepthMax: 1024,
  /** What a command of a build may print before it is waited for: its client does not read. */
  buildOutputBytesMax: 1024 * 1024,
  /** `/etc/passwd` and `/etc/group` of an image. */
  accountFileBytesMax: 1024 * 1024,
  /**
   * Groups of one user. runc compares each of them with each line of /etc/group: the 40,000 that an image may name kept
   * it busy for a minute. Directories of large companies give a user about a thousand at most.
   */
  userGroupsMax: 1024,
  /** Time SQLite waits for a lock that another program (a backup, a shell) holds on the database. */
  databaseBusyMs: 5_000,
  /**
   * Room inside the database's files that a full disk leaves: free pages, about 5,000 events; and its write-ahead log,
   * which SQLite begins anew after 1,000 pages with their heads.
   */
  databaseReserveBytes: 2 * 1024 * 1024,
  databaseLogBytes: 4.75 * 1024 * 1024,
  /** Events kept in SQLite; older ones are pruned. */
  eventsKeptMax: 100_000,
  /** New events after which the oldest are pruned: often enough that one pruning takes about a millisecond. */
  eventsPruneInterval: 256,
  /** Stored events read at a time for one client; between two pages the event loop gets its turn. */
  eventReplayPageRows: 256,
  /** First and longest pause before changes that the disk refused are tried again: a failed try is a millisecond. */
  backlogRetryMs: 100,
  backlogRetryMaxMs: 2_000,
  /** Events kept in memory while the disk refuses them, about 500 bytes each; past that the oldest are dropped. */
  backlogEventsMax: 8192,
  /** Events queued for one subscriber; past that its connection is cut, never silently thinned. */
  eventSubscriberQueueMax: 8192,
  /** Bytes queued for one attached client before the engine stops reading ahead for it. */
  attachBufferBytesMax: 1024 * 1024,
  /** Time between the end of a client's input and that of its connection, for conmon to see them one by one. */
  attachLeaveMs: 200,
  /** Time a wait holds its answer for attached clients that have not taken all output yet; some never read. */
  attachDeliveryMs: 2_000,
  /** Log bytes read and rendered at a time: one step keeps the event loop for about a millisecond. */
  logChunkBytes: 256 * 1024,
  /** A log record that does not end within this is damage, not output (conmon writes at most 8 kB at a time). */
  logRecordBytesMax: 4 * 1024 * 1024,
  /** How often the size of a log that grows is looked at, and one that has long been quiet. */
  logCheckMs: 250,
  logCheckQuietMs: 2_000,
  /** The shortest time between two looks, at a log that is about to outgrow its size. */
  logCheckMinMs: 10,
  /**
   * A log is cut off at so many times the size at which it is rotated, or at what all its files may have together, and
   * never below so many bytes.
   */
  logOverrunMax: 3,
  logStopBytesMin: 2 * 1024 * 1024,
  /** Rotated files kept longer than asked for while a client still reads them; a slower one loses lines. */
  logReaderFilesMax: 8,
  /** Undelivered output kept on disk for a receiver that takes none; past that the oldest is dropped and counted. */
  logSpoolBytesMax: 1024 * 1024 * 1024,
  /** Time a monitor gets to go on in its new log file before the daemon stops waiting for it. */
  logReopenTimeoutMs: 10_000,
  /** Time a receiver of logs gets to take a connection, and a batch of messages. */
  logConnectTimeoutMs: 5_000,
  logSendTimeoutMs: 10_000,
  /** Kept of what a receiver of logs answers: acknowledgements are short. */
  logResponseBytesMax: 64 * 1024,
  /** Longest pause between two attempts to reach a receiver of logs. */
  logRetryMaxMs: 5_000,
  /** How often the place of a delivery is noted: after a crash so much is delivered twice. */
  logCursorMs: 500,
  /** Size of the files that wait for delivery: small, because what is delivered goes file by file. */
  logSpoolFileBytes: 8 * 1024 * 1024,
  /** Time a container that is removed waits for its last lines to be delivered. */
  logRemoveDrainMs: 5_000,
  /** Messages gathered for one request to a receiver. */
  logBatchMessagesMax: 5_000,
  /** Restart back-off: first delay, growth factor 2, cap, and the up-time that resets it (moby restartmanager). */
  restartDelayFirstMs: 100,
  restartDelayMaxMs: 60_000,
  restartResetAfterMs: 10_000,
  /** Default time between stop signal and SIGKILL. */
  stopTimeoutDefaultS: 10,
  /** Pauses before a failed step of a clean-up is taken again: a disk or memory that was full for a moment. */
  retryDelaysMs: [10, 50, 200, 500],
  /** Time the kernel gets to stop all processes of a container; one in uninterruptible sleep never stops. */
  freezeWaitMs: 2_000,
  /** Time that execs which are just being launched get to have their process before their container is paused. */
  pauseAfterLaunchMs: 10_000,
  /** Time between two samples of a container's statistics. */
  statsIntervalMs: 1_000,
  /** One call of ps, for `top`, and what it may print. */
  psTimeoutMs: 10_000,
  psOutputBytesMax: 16 * 1024 * 1024,
  /** Time a killed process gets to vanish before the API answers that it did not. */
  killWaitMs: 10_000,
  /** Time a copy into a volume may keep the event loop before others get their turn. */
  copyUpSliceMs: 4,
  /** Nesting of a directory copied into a volume; each level holds two descriptors of the daemon. */
  copyUpDepthMax: 256,
  /** Results of a container's health check that inspect shows, and bytes of output kept of each (moby health.go). */
  healthResultsKept: 5,
  healthOutputBytesMax: 4096,
  /** Health probes being started at the same time: each costs 30 ms of a core, and clients come first. */
  healthLaunchConcurrency: 2,
  /** Time the leader of a killed process tree gets to reap its children before it is killed too. */
  treeReapMs: 300,
  /** Fields of a refused request that are tried one by one for being the reason: each try builds the request again. */
  faultyFieldsMax: 40,
  /** Ended exec instances remembered per container. */
  execsKeptMax: 256,
  /** Exec instances of one container that may wait for their start; beyond it the oldest is forgotten. */
  execsWaitingMax: 1024,
  /** How long exec instances can still be inspected after their container ended: clients ask for the exit code. */
  execKeptMs: 60_000,
  /** At daemon start: how long the API waits for containers to be taken over, ended or removed before it listens. */
  restoreWaitMs: 2_000,
  /** At daemon start: a container that needs what is away (managers of its network) is tried again after this. */
  startAgainMs: 5_000,
  /** At daemon start: how long monitors that live are waited for to record the end of their processes. */
  exitRecordWaitMs: 10_000,
  /** A container at its memory limit is asked no more often than this for processes that were killed. */
  oomCountPauseMs: 20,
  /** One call of a helper program (runc, tini --version, ...). */
  commandTimeoutMs: 30_000,
  /** Time runc and its monitor get to create a container or an exec session; a loaded host with a cold disk is slow. */
  launchTimeoutMs: 60_000,
  /** Time a created init gets to pick up its permission to run. It only has to be scheduled. */
  beginTimeoutMs: 10_000,
  /** Time the kernel gets to put the command in init's place before a start answers all the same. */
  commandWaitMs: 1_000,
  /** Time a monitor with clients in line gets to take another one. It only has to be scheduled. */
  attachTimeoutMs: 10_000,
  /** How often the engine looks for exits that were not reported (a monitor that was killed, a lost notification). */
  exitSweepMs: 5_000,
  /** How often a hijacked connection is checked for a client that is gone: one system call each. */
  hangUpCheckMs: 1_000,
  /** How often a stalled attached client is checked for a container that has ended behind it. */
  stalledAttachCheckMs: 250,
  /** Containers created or started at the same time; more wait in line. Two per core keeps runc from thrashing. */
  startConcurrency: 8,
  /** Ports published or taken back in one turn of the event loop: 2 to 5 ms. */
  portsPerTurn: 128,
  /** How often the firewall is looked at although the kernel told of no change. */
  firewallCheckMs: 5_000,
  /** The same where the kernel does not tell; and the longest that it rests. */
  firewallPollMs: 500,
  /** Time between two looks after changes of other programs, which may change something all the time: */
  firewallRestMs: 10,
  /** or this many times as long as the last one took, if that is more. */
  firewallRestFactor: 9,
  /** Connections that are looked through here; of more the kernel sorts out those of one address, in two walks. */
  flowsLookedThroughMax: 512,
  /** Looking for connections of containers that are gone rests this many times as long as it took: one core's tenth, */
  flowsRestFactor: 9,
  /** and no longer than this, so that an address that is used again brings none of them. */
  flowsRestMsMax: 100,
  /** How often hosts with tasks of a swarm are asked whether they are there: an ICMP echo each. */
  overlayAskMs: 1_000,
  /** Hosts asked in one turn, 10 us each; where there are more, each is asked less often. */
  overlayAskedPerTurnMax: 200,
  /** Questions without an answer after which a host that had answered gets no new connections. */
  overlayUnansweredMax: 3,
  /** Until a published port of a swarm that another program has is tried again. */
  meshPortAgainMs: 2_000,
  /** How long containers may keep a name of their network: replaced containers are found again soon. */
  dnsLocalTtlS: 60,
  /** The same of names that lead to tasks themselves: these come and go with each update of their service. */
  dnsTasksTtlS: 5,
  /** A name server that has not answered for so long gets company by the next one. */
  dnsNextServerMs: 400,
  /** A forwarded question without an answer by then fails; C libraries wait 5 s. */
  dnsAnswerMs: 4_000,
  /** Forwarded questions of one container that wait for an answer; each holds a socket. */
  dnsForwardedMax: 128,
  /** Connections to the name server of one container, and their idle time. */
  dnsConnectionsMax: 32,
  dnsConnectionIdleMs: 10_000,
  /** What a volume plugin may answer; a list of 10,000 volumes has about 2 MB. */
  pluginResponseBytesMax: 8 * 1024 * 1024,
  /** Files that say where a plugin is, and its certificates. */
  pluginFileBytesMax: 64 * 1024,
  /** Time a plugin that takes no connections is waited for: it may be starting. */
  pluginConnectMs: 2_000,
  /** Time a plugin gets when the request did not name it and only waits for it. */
  pluginLookUpMs: 1_000,
  /** First and longest pause before a plugin is asked again to unmount an unused volume, and how often it is asked. */
  pluginUnmountRetryMs: 1_000,
  pluginUnmountRetryMaxMs: 60_000,
  pluginUnmountTriesMax: 20,
  /** Variables within the default of a variable of a Dockerfile. */
  dockerfileVariableDepthMax: 50,
  /** Steps of comparing one value with the pattern of a substitution: their lengths multiply. */
  dockerfilePatternStepsMax: 2_000_000,
  /** Indexes of images within indexes. */
  indexNestingMax: 4,
  /** What an index of a registry names that is kept: those of all images are in memory. */
  keptIndexMax: 500,
  /** Links followed for one name of a tarball; docker save before 1.10 made chains of one. */
  tarballLinksMax: 8,
  /** A .dockerignore is read whole. */
  dockerignoreBytesMax: 1024 * 1024,
  /** Repositories of a registry that are asked for a layer before it is uploaded. */
  pushMountsMax: 4,
  /** Longer text is no reference to an image; refused before any pattern sees it. */
  referenceLengthMax: 1024,
  /** Longer headers are no challenge of a registry. */
  challengeLengthMax: 8192,
  /** What is kept of the complaints of xz, bzip2 and zstd. */
  decompressorErrorBytes: 2000,
  /** How far back the first pieces of an unterminated long line are looked for once enough lines are found. */
  logJoinBytesMax: 1024 * 1024,
  /** Messages kept about attributes of one layer that could not be stored. */
  layerWarningsMax: 20,
  /** Answers of the name server that a client on TCP does not read. */
  dnsUnreadBytesMax: 64 * 1024,
  /** Changes of the firewall that are read at a time: another program may write faster than the daemon reads. */
  firewallMessagesMax: 1024,
  /** Time for the metadata service of a machine, which is near or not there. */
  awsMachineMs: 2_000,
  /** Directories of a walk or a tar that stay open: nearly no tree is deeper, and those of a tar come in turn. */
  openDirectoriesMax: 64,
  /** Mounts stacked on one point that are taken off; more come from a loop in some program. */
  mountsStackedMax: 32,
  /** Longest path that one call to the kernel takes, without its NUL (PATH_MAX of linux/limits.h). */
  pathBytesMax: 4095,
  /** Descriptions of devices: a vendor has one file of some kB, with a device for each GPU and part of it. */
  cdiFilesMax: 256,
  cdiFileBytesMax: 4 * 1024 * 1024,
  /** Scrapes of metrics have no body and are few: a Prometheus, a second one, a browser. */
  metricsConnectionsMax: 64,
  metricsRequestTimeoutMs: 10_000,
  /** What a swarm, its tasks and its networks make grow. */
  ...swarmLimits,
  /** The same of the hub. */
  ...hubLimits,
  ...clusterLimits,
  /** The same of BuildKit's protocol. */
  ...buildkitLimits,
  /** Time for the last answers to clients at shutdown. */
  shutdownGraceMs: 1_000,
} as const;
