/** Who has done what, for root. */
export interface HubAuditPort {
  /** The newest first. `id`: that one alone. */
  list(id?: string): readonly AuditRow[];
}

export interface AuditRow {
  /** By which webhooks (`X-Svc-Occurrence`), events of the cluster and of the engine call it. */
  id: string;
  /** RFC 3339. */
  at: string;
  /** `alice`, `application deployer`, `root`, `engine`. */
  actor: string;
  /** `Pushed`. */
  action: string;
  /** `Repository alice/app`. */
  target: string;
  target_id: string;
  details: Readonly<Record<string, string>>;
}
