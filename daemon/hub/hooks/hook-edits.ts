import type { Hook, HookConfig } from './hook.ts';

/** A change of a hook's configuration; what is absent stays. `secret`: empty or null = none. */
export interface ConfigEdit {
  url?: string;
  contentType?: 'json' | 'form';
  secret?: string | null;
  insecureSsl?: '0' | '1';
}

export interface HookEdit {
  config?: ConfigEdit;
  /** Instead of all that there are. */
  events?: readonly string[];
  addEvents?: readonly string[];
  removeEvents?: readonly string[];
  isActive?: boolean;
}

/** How a secret looks in answers. Who sends it back means the secret that there is. */
export const MASKED_SECRET = '********';

export const NEW_CONFIG: HookConfig = { url: '', contentType: 'form', secret: null, insecureSsl: '0' };

/** A configuration after a change of some of its properties (seed 001 endpoint 7). */
export function editedConfig(config: HookConfig, edit: ConfigEdit): HookConfig {
  const { url = config.url, contentType = config.contentType, insecureSsl = config.insecureSsl } = edit;
  const { secret = config.secret } = edit;
  return {
    url,
    contentType,
    secret: secret === MASKED_SECRET ? (config.secret ?? secret) : secret === '' ? null : secret,
    insecureSsl,
  };
}

/**
 * A hook after a change of it (seed 001 endpoint 4): a secret that does not come with the request is removed (rule 2).
 * Events are replaced first, then added, then removed.
 */
export function editedHook(hook: Hook, edit: HookEdit): Hook {
  const { config = {}, events = hook.events, addEvents = [], removeEvents = [] } = edit;
  const all = new Set([...events, ...addEvents]);
  removeEvents.forEach((event) => all.delete(event));
  return {
    ...hook,
    isActive: edit.isActive ?? hook.isActive,
    events: [...all],
    config: editedConfig(hook.config, { ...config, secret: config.secret ?? null }),
  };
}
