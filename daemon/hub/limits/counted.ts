/** What is counted here, kept in records, and told to the managers that have the same records. */
export interface Counted<T extends object> {
  /** Of its records: `limit/`. */
  readonly prefix: string;
  /** What has changed since the last call, some of it where that is much. Keys have no `@`. */
  take(): { key: string; state: T }[];
  /** Takes over what this host had counted before a restart. */
  restore(key: string, state: T): void;
  /** What another host has counted; undefined = nothing any more. */
  tell(host: string, key: string, state: T | undefined): void;
  /** When a state says nothing any more, in milliseconds since 1970. */
  endsMs(state: T): number;
}
