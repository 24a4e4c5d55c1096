import {
  parseProxy,
  proxiesOf,
  PROXY_FORM,
  PROXY_VARIABLES,
  withoutCredentials,
} from '../../base/http/proxies.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../config/settings.ts';

/**
 * Writes the proxies of the configuration over those of the environment, which is where requests find them, as dockerd
 * does: in capitals and in small letters, with a warning for each that said something else. What the environment alone
 * says may be meant for other programs: an address that is of no use here is a warning, and what would go through it
 * fails.
 */
export function exportProxies(
  config: Pick<Config, 'httpProxy' | 'httpsProxy' | 'noProxy'>,
  environment: Record<string, string | undefined>,
  log: Pick<Logger, 'warn'>,
): void {
  const asked = { http: config.httpProxy, https: config.httpsProxy, none: config.noProxy };
  for (const [kind, value] of Object.entries(asked).filter(([, text]) => text !== '')) {
    // The keys of the literal above.
    for (const name of PROXY_VARIABLES[kind as keyof typeof asked]) {
      const old = environment[name];
      if (old && old !== value) {
        log.warn(
          { name, oldValue: withoutCredentials(old), newValue: withoutCredentials(value) },
          'overriding existing proxy variable with value from configuration',
        );
      }
      environment[name] = value;
    }
  }
  const { http, https } = proxiesOf(environment);
  for (const value of new Set([http, https])) {
    if (value !== '' && parseProxy(value) === undefined) {
      log.warn({ value: withoutCredentials(value) }, `a proxy must look like ${PROXY_FORM}`);
    }
  }
}
