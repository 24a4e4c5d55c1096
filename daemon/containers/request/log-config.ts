import type { LogConfig } from '../../../api/types/host-config.ts';
import { checkLogOptions, isLogDriver } from '../../../runtime/log-drivers/drivers.ts';
import type { LogDriverName } from '../../../runtime/log-drivers/drivers.ts';
import { jsonFilePolicy, localPolicy, withFileDefaults } from '../../../storage/logs/policy.ts';
import { invalidArgument } from '../../base/errors.ts';

/** Where output goes when a container does not say. */
export interface LogDefaults {
  driver: LogDriverName;
  options: Readonly<Record<string, string>>;
}

/** Driver and options that were asked for here or in the daemon's configuration, as inspect shows them. */
export interface NormalLogConfig {
  Type: LogDriverName;
  Config: Record<string, string>;
}

/**
 * The daemon's options count for containers with the daemon's driver, option by option. What a driver does by itself is
 * not filled in (daemon/logs/policies.ts knows it): tools compare what they see here with what they asked for. Throws
 * invalid_argument with dockerd's texts. Pure.
 */
export function normaliseLogConfig(asked: LogConfig | undefined, defaults: LogDefaults): NormalLogConfig {
  const type = asked?.Type || defaults.driver;
  if (!isLogDriver(type)) {
    throw invalidArgument(`logger: no log driver named '${type}' is registered`);
  }
  const options = { ...(type === defaults.driver && defaults.options), ...asked?.Config };
  checkLogOptions(type, options);
  if (type === 'json-file') {
    jsonFilePolicy(withFileDefaults(options));
  } else if (type === 'local') {
    localPolicy(options);
  }
  return { Type: type, Config: options };
}
