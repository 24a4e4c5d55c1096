/** A webhook of a repository. Records `hook/<repository's id>/<hook's id>`. */
export interface Hook {
  id: number;
  /** Id of the repository. */
  repository: number;
  isActive: boolean;
  /** Names of events, each once; `*` = all. */
  events: readonly string[];
  config: HookConfig;
  createdMs: number;
  updatedMs: number;
}

export interface HookConfig {
  /** `http:`, `https:`, or `engine://services/NAME`. */
  url: string;
  contentType: 'json' | 'form';
  /** Key of the signatures; null = deliveries are not signed. */
  secret: string | null;
  /** `1` = the certificate of the receiver is not verified. */
  insecureSsl: '0' | '1';
}

export function hookKey(repository: number, hook: number): string {
  return `${repository}/${hook}`;
}
