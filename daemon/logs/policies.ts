import type { LoggedRun } from '../containers/ports.ts';
import { unreachable } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { parseBool } from '../base/go/values.ts';
import { jsonFilePolicy, localPolicy, withFileDefaults } from '../../storage/logs/policy.ts';
import type { RotationPolicy } from '../../storage/logs/policy.ts';

/** Output that is sent elsewhere only waits here. */
const SPOOL: RotationPolicy = {
  fileBytesMax: limits.logSpoolFileBytes,
  filesMax: 2,
  compress: false,
  spoolBytesMax: limits.logSpoolBytesMax,
};

/** What is kept on this host of a container's output; undefined = nothing. Pure. */
export function policyOf({ Type, Config }: LoggedRun['logConfig']): RotationPolicy | undefined {
  switch (Type) {
    case 'none':
      return undefined;
    case 'json-file':
      return jsonFilePolicy(withFileDefaults(Config));
    case 'local':
      return localPolicy(Config);
    case 'journald':
      return cachePolicy(Config);
    case 'awslogs':
    case 'fluentd':
    case 'gelf':
    case 'splunk':
    case 'syslog':
      return SPOOL;
    default:
      return unreachable(Type);
  }
}

/** What `logs` reads of a log that the journal has. */
function cachePolicy(options: Readonly<Record<string, string>>): RotationPolicy {
  if (options['cache-disabled'] !== undefined && parseBool(options['cache-disabled'])) {
    return SPOOL;
  }
  const named = (key: string): Record<string, string> => {
    const value = options[`cache-${key}`];
    return value === undefined ? {} : { [key]: value };
  };
  return localPolicy({ ...named('max-size'), ...named('max-file'), ...named('compress') });
}
