/** What of an hour's requests is used. */
export interface HubRateStatus {
  limit: number;
  used: number;
  remaining: number;
  /** Seconds since 1970. */
  reset: number;
}
