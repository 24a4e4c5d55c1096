import type { ServicesPort } from '../../hub/deliveries/services.ts';
import type { WebhookSettings } from '../../hub/webhooks.ts';
import type { Config } from '../config/settings.ts';
import { ENGINE_VERSION } from '../version.ts';

/**
 * The settings of webhooks. Without `hub.hooks-allowed-hosts`: a hub that other hosts reach delivers to addresses of
 * the Internet alone, so that nobody reaches through it what is behind; a hub for this host delivers to its networks
 * too.
 */
export function webhookSettings(
  config: Config,
  { isLoopback, services }: { isLoopback: boolean; services: ServicesPort | undefined },
): Omit<WebhookSettings, 'deliveries' | 'turns'> {
  const { hubHooksAllowedHosts: allowed } = config;
  return {
    allowedHosts:
      allowed.length > 0 ? allowed : isLoopback ? ['external', 'private', 'loopback'] : ['external'],
    rules: { retries: config.hubHooksRetries, switchOffAfter: config.hubHooksSwitchOffAfter },
    hasCompatHeaders: config.hubHooksCompatHeaders,
    version: ENGINE_VERSION,
    services,
    hasThread: true,
  };
}
