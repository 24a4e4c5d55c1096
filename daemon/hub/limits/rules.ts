/** The limits of the hub (seed 001, section 8). 0 = there is no such limit. */
export interface RateRules {
  /** Requests of an address without credentials, in an hour. */
  anonymousPerHour: number;
  /** Requests of a user, with all tokens together, in an hour. */
  userPerHour: number;
  /** Requests of an application by its client id or as itself, and the least of one of its installations. */
  applicationPerHour: number;
  /** Requests of the tasks of one repository by their built-in tokens. */
  workflowPerHour: number;
  /** What organizations marked so have in place of the three before. */
  enterprisePerHour: number;
  /** Requests of one caller that are being answered at a time. */
  concurrent: number;
  /** Points of one caller at one operation, in a minute: see `pointsOf`. */
  pointsPerMinute: number;
  /** Requests of one caller that make something. */
  contentPerMinute: number;
  contentPerHour: number;
  /** Seconds of this process's work for one caller, in a minute. */
  processorPerMinute: number;
  /** Pulls and, apart from them, pushes of the registry, in a minute: of an address without credentials, of a user. */
  registryAnonymousPerMinute: number;
  registryUserPerMinute: number;
}

export const DEFAULT_RULES: RateRules = {
  anonymousPerHour: 60,
  userPerHour: 5_000,
  applicationPerHour: 5_000,
  workflowPerHour: 1_000,
  enterprisePerHour: 15_000,
  concurrent: 100,
  pointsPerMinute: 900,
  contentPerMinute: 80,
  contentPerHour: 500,
  processorPerMinute: 90,
  registryAnonymousPerMinute: 300,
  registryUserPerMinute: 3_000,
};

/** What one request costs of the points of a minute: 1 to read, 5 to change. */
export function pointsOf(method: string): number {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method) ? 1 : 5;
}
