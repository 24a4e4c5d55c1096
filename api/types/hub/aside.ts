/** What a hub had before another one's records took its place, for root. */
export interface HubAsidePort {
  list(): readonly AsideRow[];
  /** Throws not_found; conflict with the names of accounts that the hub has already. */
  restore(source: string): Promise<AsideRestored>;
}

export interface AsideRow {
  /** `host`, or the name of a file. */
  source: string;
  kind: string;
  name: string;
}

export interface AsideRestored {
  accounts: number;
  repositories: number;
  oauth_applications: number;
  /** Apps and OAuth apps of GitHub's kind. */
  apps: number;
  /** How many of what kind do not come back. */
  left: Readonly<Record<string, number>>;
}
