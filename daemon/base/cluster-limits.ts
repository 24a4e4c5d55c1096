/** The bounds of the cluster interface: a part of {@link limits}, where all others are. */
export const clusterLimits = {
  /** Connections: watches of some hundreds of programs, and requests beside them. */
  clusterConnectionsMax: 4_096,
  /** What a client is told to wait that came while the records were out of reach. */
  clusterAwayRetryAfterS: 5,
};
