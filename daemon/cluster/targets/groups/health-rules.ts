import type { Fields } from '../input/fields.ts';
import { matcherProblem } from './matcher.ts';
import type { GroupConfig, HealthCheck } from './target-group.ts';

/** Whole numbers of a health check: from, to, default (seed 002, 2B). 0 means the default, as clients send it. */
const NUMBERS = {
  healthCheckIntervalSeconds: [5, 300, 30],
  healthCheckTimeoutSeconds: [1, 120, 5],
  healthyThresholdCount: [2, 10, 5],
  unhealthyThresholdCount: [2, 10, 2],
} as const;

const KNOWN = [
  'enabled',
  'protocol',
  'protocolVersion',
  'port',
  'path',
  'matcher',
  ...Object.keys(NUMBERS),
] as const;

type Group = Pick<GroupConfig, 'protocol' | 'protocolVersion'>;

/** What a group has that says nothing of health checks. */
export function defaultHealthCheck({ protocol, protocolVersion }: Group): HealthCheck {
  const numbers = {
    healthCheckIntervalSeconds: NUMBERS.healthCheckIntervalSeconds[2],
    healthCheckTimeoutSeconds: NUMBERS.healthCheckTimeoutSeconds[2],
    healthyThresholdCount: NUMBERS.healthyThresholdCount[2],
    unhealthyThresholdCount: NUMBERS.unhealthyThresholdCount[2],
  };
  if (protocol === 'TCP') {
    return { enabled: true, protocol: 'TCP', ...numbers };
  }
  // The original checks HTTP1 groups unless told not to, and others only when told to.
  const isHttp1 = protocolVersion === 'HTTP1' || protocolVersion === undefined;
  return { enabled: isHttp1, protocol: 'HTTP', ...HTTP_PARTS, ...numbers };
}

const HTTP_PARTS = { protocolVersion: 'HTTP1', path: '/', matcher: { httpCode: '200' } } as const;

/**
 * A health check after a request: what it does not name stays as it is. Problems are noted in `fields`, whose answer
 * is then not to be used.
 */
export function editedHealthCheck(fields: Fields, current: HealthCheck, group: Group): HealthCheck {
  fields.only(...KNOWN);
  const protocol = fields.choice('protocol', ['HTTP', 'HTTPS', 'TCP']) ?? current.protocol;
  const enabled = fields.flag('enabled') ?? current.enabled;
  const port = fields.integer('port', 0, 65_535) ?? current.port;
  const common = {
    enabled,
    protocol,
    ...(port !== undefined && port !== 0 && { port }),
    healthCheckIntervalSeconds: number(fields, 'healthCheckIntervalSeconds', current),
    healthCheckTimeoutSeconds: number(fields, 'healthCheckTimeoutSeconds', current),
    healthyThresholdCount: number(fields, 'healthyThresholdCount', current),
    unhealthyThresholdCount: number(fields, 'unhealthyThresholdCount', current),
  };
  if (protocol === 'TCP') {
    for (const name of ['path', 'matcher', 'protocolVersion']) {
      if (fields.has(name)) {
        fields.wrong(name, 'does not go with the protocol TCP', fields.value(name));
      }
    }
    return common;
  }
  const version = fields.choice('protocolVersion', ['HTTP1', 'HTTP2']);
  if (enabled && version === undefined && group.protocolVersion === 'GRPC' && !current.enabled) {
    fields.wrong('protocolVersion', 'must be HTTP1 or HTTP2: there are no health checks with GRPC');
  }
  return {
    ...common,
    protocolVersion: version ?? current.protocolVersion ?? HTTP_PARTS.protocolVersion,
    path: readPath(fields) ?? current.path ?? HTTP_PARTS.path,
    matcher: readMatcher(fields) ?? current.matcher ?? HTTP_PARTS.matcher,
  };
}

function number(fields: Fields, name: keyof typeof NUMBERS, current: HealthCheck): number {
  const [min, max, byDefault] = NUMBERS[name];
  return fields.value(name) === 0 ? byDefault : (fields.integer(name, min, max) ?? current[name]);
}

function readPath(fields: Fields): string | undefined {
  return fields.text('path', {
    max: 2048,
    pattern: /^\/[a-zA-Z0-9@:%_+.~#?&/=-]*$/,
    must: 'must be the path of a URI, which begins with /, of at most 2048 characters',
  });
}

/** A tagged union: exactly one key (seed 002, 2B). */
function readMatcher(fields: Fields): { httpCode: string } | undefined {
  const matcher = fields.inside('matcher');
  if (matcher === undefined) {
    return undefined;
  }
  const keys = matcher.entries().map(([key]) => key);
  if (keys.length !== 1 || keys[0] !== 'httpCode') {
    return matcher.wrong('', 'must have exactly one key, httpCode', keys);
  }
  const httpCode = matcher.text('httpCode', {
    max: 2000,
    pattern: /^[0-9-,]+$/,
    must: 'must be status codes and ranges of them, 200-299,301',
  });
  const problem = httpCode === undefined ? undefined : matcherProblem(httpCode);
  if (problem !== undefined) {
    return matcher.wrong('httpCode', problem, httpCode);
  }
  return httpCode === undefined ? undefined : { httpCode };
}
