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

/** Driver and options in force, as inspect shows them. */
export interface NormalLogConfig {
  Type: LogDriverName;
  Config: Record<string, string>;
}

/**
 * The daemon's options count for containers with the daemon's driver, option by option. Throws invalid_argument with
 * dockerd's texts. Pure.
 */
export function normaliseLogConfig(asked: LogConfig | undefined, defaults: LogDefaults): NormalLogConfig {
  const type = asked?.Type || defaults.driver;
  if (!isLogDriver(type)) {
    throw invalidArgument(`logger: no log driver named '${type}' is registered`);
  }
  const merged = { ...(type === defaults.driver && defaults.options), ...asked?.Config };
  // dockerd takes any option for `none`, which uses none.
  const options = type === 'json-file' ? withFileDefaults(merged) : merged;
  checkLogOptions(type, options);
  if (type === 'json-file') {
    jsonFilePolicy(options);
  } else if (type === 'local') {
    localPolicy(options);
  }
  return { Type: type, Config: options };
}
