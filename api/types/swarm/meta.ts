/** What every object of a swarm begins with, at API 1.55. Types only. */

/** Without `Index` where it would be 0. To be given back with an update, so that none is lost. */
export interface ObjectVersion {
  Index?: number;
}

/** Ids have 25 characters of `0-9a-z`; times are RFC 3339, UTC. */
export interface ObjectHead {
  ID: string;
  Version: ObjectVersion;
  CreatedAt: string;
  UpdatedAt: string;
}
