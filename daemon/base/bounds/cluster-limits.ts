/** The bounds of the cluster interface: a part of {@link limits}, where all others are. */
export const clusterLimits = {
  /** Connections: watches of some hundreds of programs, and requests beside them. */
  clusterConnectionsMax: 4_096,
  /** Rows of events read in one stretch at the start. */
  clusterEventsReadAtOnce: 1_000,
  /** Commits of events under way at a time, and changes in one: on this host, and in a swarm, whose store takes 128. */
  clusterLocalCommitsMax: 4,
  clusterLocalChangesMax: 500,
  clusterSharedCommitsMax: 4,
  clusterSharedChangesMax: 100,
  /** Least time between two commits, in which changes gather. */
  clusterCommitPaceMs: 4,
  /** Changes of events that may wait; past that clients are to try again. */
  clusterEventWritesMax: 20_000,
  /** Least time between two tellings of a watch, in which changes gather. */
  clusterWatchPaceMs: 20,
  /** Changes that are remembered for watches that begin later than their list. */
  clusterChangesRemembered: 10_000,
  /** Names that are made up for one event before its client is told to try again. */
  clusterNamesTried: 8,
  /** How often a change is decided anew that another manager's came before, and how long that one is waited for. */
  clusterDecisionsMax: 20,
  clusterMovedMs: 2_000,
  clusterMovedLookMs: 5,
  /** Events of a collection that are removed at the same time. */
  clusterRemovedAtOnce: 500,
  /** How often old events are removed. */
  clusterSweepMs: 10_000,
  /** What a watch may have unread, and for how long nothing at all may be read, before it is cut. */
  clusterWatchUnreadBytesMax: 8 * 1024 * 1024,
  clusterWatchStalledMs: 30_000,
  /** Watches at a time: each costs a write whenever something happens. */
  clusterWatchesMax: 1_000,
  /** How long a watch goes on that names no time, and how often it is told how far it is. */
  clusterWatchDefaultS: 1_800,
  clusterBookmarkMs: 60_000,
  /** References to other parts of a YAML document that are followed. */
  clusterYamlAliasesMax: 100,
  /** Characters of a list that are sent in one stretch. */
  clusterListChunk: 256 * 1024,
  /** How long after the last time something is the same series, and how often series are written. */
  clusterSeriesWindowMs: 360_000,
  clusterSeriesPaceMs: 5_000,
  /** Managers hear of the same within this time: what comes later has happened again. */
  clusterSameMs: 15_000,
  /** What one object tells at once, and how soon one more; objects and series that are remembered. */
  clusterTellsBurst: 25,
  clusterTellEveryMs: 10_000,
  clusterTellersRemembered: 4_096,
  /** Events of the engine on their way to the storage; what comes beyond is left out and counted. */
  clusterTellsMax: 500,
  /**
   * How far back events of the engine are told that were not when they happened, how often it is written down how far
   * that has come, and how long it waits while nothing can be told, or too much is on its way.
   */
  clusterToldAgainMs: 600_000,
  clusterToldPaceMs: 1_000,
  clusterTellWaitMs: 50,
  /** How soon a worker tells the managers again what none of them took. */
  clusterWorkerRetryMs: 2_000,
  /**
   * What becomes of tasks: how much of one service is told at once, how soon more, how much may wait, and how much
   * later managers tell it that do not lead, where the leader has not.
   */
  clusterTasksBurst: 200,
  clusterTaskEveryMs: 100,
  clusterTasksWaitingMax: 2_000,
  clusterTaskDelayMs: 3_000,
  /** What a client is told to wait that came while the records were out of reach. */
  clusterAwayRetryAfterS: 5,
};
