/** Bounds of target groups and of the traffic to targets, with their reasons. */
export const targetLimits = {
  /** Quotas of the original: groups and services of an account, targets of a group, listeners of a service. */
  groupsMax: 500,
  servicesMax: 500,
  targetsOfGroupMax: 1_000,
  listenersOfServiceMax: 2,
  /** Pairs of keys that sign requests. */
  accessKeysMax: 1_000,
  /** Certificates that are imported, and characters of each, of its authorities' and of its key. */
  certificatesMax: 100,
  certificateCharactersMax: 65_536,
  /** Groups that one action forwards to. */
  groupsOfActionMax: 10,
  /** How long a target that was deregistered may finish what it has begun. */
  drainMs: 300_000,
  /** The same for a task that is stopped, of which its service decides; and how often is looked meanwhile. */
  taskDrainMs: 5_000,
  gateLookMs: 100,
  /** Changes that go in one update. */
  changesAtOnce: 100,
  /** Entries of one page, and those of a list of targets that are asked for by name. */
  pageMax: 100,
  targetsAskedMax: 20,
  /** Checks that wait for their targets at the same time: a full group may hang, and the others have their turn. */
  checksAtOnce: 1_024,
  /** Bytes of a target's answer to a check that are read: the status stands in the first line. */
  checkAnswerBytesMax: 16_384,
  /** A check whose time is over is given up within so many milliseconds more. */
  checkTickMs: 250,
  /** How often what changed elsewhere (tasks of services, containers) is looked for. */
  followMs: 1_000,
  /** Time for a target to take a connection before another one is tried. */
  connectMs: 5_000,
  /** Time in which a target has to begin its answer, as at the original. */
  answerMs: 60_000,
  /** Connections of clients to one listener, and idle ones kept to one target. */
  connectionsMax: 8_192,
  idleConnectionsMax: 64,
  idleMs: 60_000,
  /** Time for requests of a listener that is removed to finish. */
  closeMs: 30_000,
  /** Events of functions, and what they answer (the original: 6 MB). */
  functionBytesMax: 6 * 1024 * 1024,
  functionMs: 60_000,
  /** Functions that run at the same time: each is a container. */
  functionsAtOnce: 16,
} as const;
