/** A personal token as its user sees it: the hub's own shape, as GitHub has no such call. */
export interface HubToken {
  id: number;
  kind: 'classic' | 'fine-grained';
  note: string;
  token_last_eight: string;
  hashed_token: string;
  scopes: readonly string[];
  /** Fine-grained ones only. */
  permissions?: Readonly<Record<string, string>>;
  resource_owner?: string;
  repository_selection?: 'all' | 'selected';
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

/** The only answer that holds the secret. */
export interface CreatedHubToken extends HubToken {
  token: string;
}

/** Body of `POST /admin/users/{username}/tokens`: `scopes`, or `permissions` for a fine-grained one. */
export interface TokenCreateRequest {
  note?: string;
  scopes?: readonly string[];
  permissions?: Readonly<Record<string, string>>;
  resource_owner?: string;
  /** Names without the owner; absent = all. */
  repositories?: readonly string[];
  /** Seconds; null or absent = never expires. */
  expires_in?: number | null;
}
