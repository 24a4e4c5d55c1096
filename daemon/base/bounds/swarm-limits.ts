/** The bounds of a swarm and of its tasks and networks: a part of {@link limits}, where all others are. */
export const swarmLimits = {
  /** A call of the swarm's store: an election takes about 1.4 s, and a client hears of a lost majority within 5. */
  swarmStoreCallMs: 4_500,
  /** Entries of one answer of the swarm's store: about 1 MB of tasks. */
  swarmStorePageKeys: 2_000,
  /**
   * Operations of one transaction, which etcd is started with: a manifest of the hub is put on the condition that its
   * 1,000 parts are as they were. And the bytes that etcd takes, less what its request has around the values.
   */
  swarmStoreCommitOperationsMax: 2_048,
  swarmStoreCommitBytesMax: 1_400_000,
  /** Pauses before a watch or a candidate that lost its connection asks again: doubling from first to longest. */
  swarmStoreRetryMs: 50,
  swarmStoreRetryMaxMs: 1_000,
  /** A member of the store that was asked to end gets so long to hand over leadership and to write. */
  swarmStoreStopMs: 10_000,
  /** What a member of the store says on standard error; past that it is cut. */
  swarmStoreLogBytesMax: 4 * 1024 * 1024,
  /** A change of the members is asked for so long: etcd takes none until all have been connected for 5 s. */
  swarmStoreMembershipMs: 30_000,
  /** Time for a member to rewrite its file, or to send it: 2.9 s for 227 MB, and 2 GB is the quota. */
  swarmStoreDefragmentMs: 60_000,
  swarmStoreBackupMs: 120_000,
  /** A leader of the swarm that is not heard of for so long is followed by another. etcd counts whole seconds. */
  swarmLeaderTtlMs: 3_000,
  /** How often a manager asks its own member of the store which member leads, and how long it waits for a manager. */
  swarmStoreLeaderLookMs: 250,
  swarmLeaderAnswerMs: 750,
  /**
   * The swarm's leader decides on changes together: soon after the first one, then so long after the last, at most so
   * long after the first that waits.
   */
  swarmDecisionFirstMs: 5,
  swarmDecisionDelayMs: 50,
  swarmDecisionDelayMaxMs: 1_000,
  /** States of a task on its way to running are stored only when they last longer: most do not. */
  swarmPassingStateMs: 5_000,
  /** A node's sessions within this time: a node in a circle of errors must not keep the leader busy (as swarmkit). */
  swarmSessionsMax: 3,
  swarmSessionsWithinMs: 8_000,
  /** Nodes say that they live at times that differ, so that not all come at once. */
  swarmHeartbeatSpreadMs: 500,
  /** A node that is down for so long does not come back with the results of its tasks. */
  swarmOrphanAfterMs: 24 * 3_600_000,
  /** What a node says of itself. 300 labels and plugins are 16 kB. */
  swarmDescriptionBytesMax: 64 * 1024,
  /** Subnets that a node says it is in: its interfaces and its own networks. Only a few are of the swarm's pools. */
  swarmNodeSubnetsMax: 256,
  /** What a node says of one task: characters of message and error, and its ports. */
  swarmStatusTextMax: 1024,
  swarmStatusPortsMax: 256,
  /** Changes for a node are told together: after so many, or at intervals of so long. The first one waits hardly. */
  swarmAssignmentsMax: 100,
  swarmAssignmentsMs: 100,
  swarmAssignmentsFirstMs: 5,
  /**
   * From when a task is to end until it is told so: twice the time that another node's changes wait at the leader, for
   * the way there and for the rules in that node's kernel. dockerd waits 2 s for its gossip.
   */
  swarmDrainMs: 300,
  /** A message of assignments: larger sets come in several. One secret or config is at most 1.4 MB. */
  swarmAssignmentsBytesMax: 1024 * 1024,
  /** Lines of logs that wait for a slow client; nodes wait meanwhile. One line is at most a message. */
  swarmLogsBytesMax: 1024 * 1024,
  /** A node that does not begin to send its lines by then counts as not available. */
  swarmLogsOpenMs: 10_000,
  /** Failures of one service on one node that the swarm's scheduler counts: more say no more. */
  swarmNodeFailuresRemembered: 64,
  /** Sets of constraints for which the scheduler knows which nodes fit; others are judged anew. */
  swarmFitsRemembered: 1024,
  /** Sets of spread preferences for which the scheduler keeps the nodes in a tree. */
  swarmSpreadTreesKept: 64,
  /** A request for a certificate: one of a node is 450 bytes. */
  swarmRequestBytesMax: 64 * 1024,
  /** Certificates from a node to a root: two while the root is rotated, more where an external authority has more. */
  swarmChainCertificatesMax: 8,
  /** An external authority: time for its answer, and what of it is read (as swarmkit). */
  swarmExternalCaMs: 5_000,
  swarmExternalCaBytesMax: 256 * 1024,
  /** Nodes that are told at a time to renew their certificates under a new root. */
  swarmRotatingNodesMax: 30,
  /** Pauses before a node asks for a session again: doubling from first to longest. */
  swarmSessionRetryMs: 100,
  swarmSessionRetryMaxMs: 8_000,
  /** The longest of them while a manager answers that another one leads: an election is over soon. */
  swarmSessionElectionMs: 1_000,
  /** One that was silent last is asked for so long only, so many times; and because others name it after so long. */
  swarmSessionSuspectMs: 1_000,
  swarmSessionSuspectTries: 5,
  swarmSessionSuspectAgainMs: 2_000,
  /** Time for the leader to hear that a node leaves; it finds out by itself too. */
  swarmFarewellMs: 2_000,
  /** A container waits so long to be let into a network of the swarm (as dockerd). */
  swarmAttachMs: 20_000,
  /** One that goes waits so long for a manager to hear of it; then it is told later. */
  swarmDetachMs: 2_000,
  /** Containers of one node in networks of the swarm, names of one, and characters of each: 2 MB of a message of 4. */
  swarmAttachmentsMax: 8_192,
  swarmAttachmentNamesMax: 64,
  swarmAttachmentTextMax: 256,
  /** How often a node looks whether it has changed, to tell so. */
  swarmDescribeMs: 20_000,
  /** Statuses of tasks are gathered for so long, and so many are told at a time: 300 bytes each, of 4 MB. */
  swarmReportDelayMs: 100,
  swarmReportStatusesMax: 2_000,
  /** Pauses before a step of a task that failed for the moment is taken again: doubling from first to longest. */
  swarmTaskRetryMs: 200,
  swarmTaskRetryMaxMs: 10_000,
  /** Files of tasks written at a time: each is a descriptor and a sync. */
  swarmTaskFileWrites: 16,
  /** Readers of tasks' logs that a node serves at a time, each with a stream. */
  swarmLogStreamsMax: 128,
  /** All secrets and configs of a node's tasks, in memory. */
  taskFilesBytesMax: 512 * 1024 * 1024,
  /** A pull that has just ended is not made again: fifty tasks of one service come within this time. */
  taskPullFreshMs: 3_000,
  /** A registry that does not answer for so long keeps no task waiting whose image is here, or with a manager. */
  taskPullPatienceMs: 10_000,
  /** So long it is not asked again for that image: each task of a service would wait anew. */
  taskPullSilenceMs: 60_000,
  /** Pauses before an overlay network that failed in the kernel is made again: doubling from first to longest. */
  overlayRetryMs: 500,
  overlayRetryMaxMs: 30_000,
  /** Of the file of a network that changes all the time, which is written whole: 1 MB is some 10 ms of work. */
  overlayFileBytesPerSecond: 1_000_000,
  /** How often the kernel's entries of overlay networks are compared: 10,000 peers are some 0.1 s. */
  overlayReconcileMs: 600_000,
  /** A key of encrypted networks is the next, the primary and the previous one for so long each (as swarmkit). */
  swarmNetworkKeyMs: 12 * 3_600_000,
  /** How often the leader looks whether the next one is due. */
  swarmNetworkKeyLookMs: 60_000,
  /** How often the leader tells the hub of deployments when nothing has changed: what failed is told then. */
  swarmRolloutLookMs: 5_000,
  /** A manager that does not say within it whether it has an image has none: tasks wait for the answer. */
  swarmImageFindMs: 2_000,
  /** What a node tells a manager of itself at a time, what one event may have, and how long it waits for the answer. */
  swarmToldEventsMax: 50,
  swarmToldAttributesMax: 16,
  swarmToldTextMax: 1_024,
  swarmToldMs: 10_000,
  /** Layers that a manager sends to nodes at a time, of those that it may read (`layerReadersMax`); and to one node. */
  swarmImageReadsMax: 3,
  swarmImageReadsOfNodeMax: 2,
  /** A piece of a layer on its way; and how long one may take, as a slow node keeps others waiting. */
  swarmImagePieceBytes: 512 * 1024,
  swarmImagePieceMs: 30_000,
  /** Data keys that no value is sealed with yet: one of each manager that locks the swarm at the same time. */
  swarmWaitingKeysMax: 16,
  /** Time for another manager to take a new data key, or to tell it. */
  swarmKeyCallMs: 2_000,
  /** An old data key is dropped so long after its last value: a write that was on its way has ended by then. */
  swarmKeyGraceMs: 10_000,
  /** Managers rewrite the file of their store one after the other, so long apart: each is deaf meanwhile. */
  swarmKeyTurnMs: 5_000,
  /** All of a layer: a node that takes a piece now and then must not hold a reader for days. */
  swarmImageLayerMs: 1_800_000,
  /** A manager that has sent nothing of a layer for so long is given up: it may have others to serve first. */
  swarmImageSilenceMs: 300_000,
  /** How long a manager that gave other bytes than those of a blob is asked after the others. */
  swarmBlobWrongMs: 600_000,
  /** How often it is looked for a task's container whose log has a reader already. */
  taskLogPollMs: 500,
  /** What a template of a task may make: as much as a config, the largest thing that is one. */
  swarmTemplateOutputBytesMax: 1_024_000,
  /** Actions and turns of `range` of one template: a loop in a loop over labels is far below. */
  swarmTemplateStepsMax: 100_000,
  /** Blocks within blocks, parentheses within parentheses. */
  swarmTemplateDepthMax: 50,
  /** `printf "%100s"`: a width makes text that nobody wrote. */
  swarmTemplateWidthMax: 100,
  /** A call between nodes of a swarm, and the TLS handshake before the first one. */
  swarmCallMs: 5_000,
  swarmConnectMs: 5_000,
  /** One value between nodes: the largest are assignments with configs of a megabyte in base64. */
  swarmMessageBytesMax: 4 * 1024 * 1024,
  /** From a caller without a certificate of the swarm: a request for one, and a token. */
  swarmStrangerBytesMax: 128 * 1024,
  /**
   * A connection between nodes is asked so often whether it is alive, and given up after so many questions without an
   * answer. The side that dialled asks more often: a node must find the next leader soon.
   */
  swarmPingMs: 4_000,
  swarmPingDialledMs: 1_000,
  swarmPingsUnansweredMax: 3,
  /** Connections to a manager: 4,700 nodes are the most that a swarm was seen with. */
  swarmConnectionsMax: 10_000,
  /** A client waits so long for a node to join, or for a swarm to begin; a join goes on after it. */
  swarmJoinMs: 20_000,
  /** A manager that leaves waits so long for the others to let its member of the store go. */
  swarmLeaveMs: 5_000,
  /** Calls of one node at a time. */
  swarmStreamsMax: 250,
  /** On its way to a node at a time, of one stream and of all: 64 kB would be 3 MB/s between hosts 20 ms apart. */
  swarmStreamWindowBytes: 1024 * 1024,
  swarmConnectionWindowBytes: 4 * 1024 * 1024,
  /** A node's certificate is looked at again after so long, as certificates expire. */
  swarmIdentityMs: 10_000,
  /** Times of the swarm's objects whose text is kept: about 100 bytes each. */
  swarmTimesRemembered: 10_000,
  /** Times that a change of the swarm is decided anew because another one came first; then its client may try again. */
  swarmWriteAttempts: 5,
  /** The same of a network, whose subnets all managers choose from the same pools: each makes one at a time. */
  swarmNetworkAttempts: 50,
  /** Time for the managers to elect, so that a client does not hear of it; with a last look it is answered in 5 s. */
  swarmWritePatienceMs: 3_900,
  /** One attempt of it: what a member was told before it lost its leader it never answers. */
  swarmWriteAnswerMs: 1_000,
  /** Time for a manager to hear what the store already has, and how often it looks. */
  swarmCatchUpMs: 1_000,
  swarmCatchUpStepMs: 5,
  /** Data of a secret and of a config has less bytes than this (as swarmkit). */
  swarmSecretBytesMax: 512_000,
  swarmConfigBytesMax: 1_024_000,
} as const;
