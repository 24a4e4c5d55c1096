import type { Fields } from '../input/fields.ts';
import { defaultHealthCheck, editedHealthCheck } from './health-rules.ts';
import type { GroupConfig, GroupType } from './target-group.ts';

const KNOWN = [
  'healthCheck',
  'ipAddressType',
  'lambdaEventStructureVersion',
  'port',
  'protocol',
  'protocolVersion',
  'vpcIdentifier',
] as const;

/** Fields that a group of a type does not have (seed 002, 2B). */
const REFUSED: Readonly<Record<GroupType, readonly (typeof KNOWN)[number][]>> = {
  LAMBDA: ['healthCheck', 'ipAddressType', 'port', 'protocol', 'protocolVersion', 'vpcIdentifier'],
  ALB: ['healthCheck', 'ipAddressType', 'lambdaEventStructureVersion'],
  INSTANCE: ['ipAddressType', 'lambdaEventStructureVersion'],
  IP: ['lambdaEventStructureVersion'],
};

const DEFAULT_PORTS = { HTTP: 80, HTTPS: 443, TCP: undefined } as const;

/**
 * The configuration of a new group with all defaults filled in. `fields`: that of `config`, undefined = none was sent;
 * problems are noted there.
 */
export function readConfig(fields: Fields | undefined, type: GroupType): GroupConfig {
  fields?.only(...KNOWN);
  for (const name of REFUSED[type]) {
    if (fields?.has(name) === true) {
      fields.wrong(name, `is not supported for the type ${type}`, fields.value(name));
    }
  }
  if (type === 'LAMBDA') {
    return {
      lambdaEventStructureVersion: fields?.choice('lambdaEventStructureVersion', ['V1', 'V2']) ?? 'V1',
    };
  }
  const protocol = fields?.choice('protocol', ['HTTP', 'HTTPS', 'TCP']) ?? 'HTTP';
  const port = fields?.integer('port', 1, 65_535) ?? DEFAULT_PORTS[protocol];
  if (port === undefined) {
    fields?.wrong('port', 'is required for the protocol TCP');
  }
  const protocolVersion = versionOf(fields, protocol);
  const vpcIdentifier = fields?.text('vpcIdentifier', {
    max: 255,
    pattern: /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/,
    must: 'must be the name, the id or the alias vpc-... of a network',
  });
  const config: GroupConfig = {
    ...(port !== undefined && { port }),
    protocol,
    ...(protocolVersion !== undefined && { protocolVersion }),
    ...(type === 'IP' && { ipAddressType: fields?.choice('ipAddressType', ['IPV4', 'IPV6']) ?? 'IPV4' }),
    ...(vpcIdentifier !== undefined && { vpcIdentifier }),
  };
  return type === 'ALB' ? config : { ...config, healthCheck: healthCheckOf(fields, config) };
}

function versionOf(fields: Fields | undefined, protocol: 'HTTP' | 'HTTPS' | 'TCP') {
  const version = fields?.choice('protocolVersion', ['HTTP1', 'HTTP2', 'GRPC']);
  if (protocol !== 'TCP') {
    return version ?? 'HTTP1';
  }
  return version === undefined
    ? undefined
    : fields?.wrong('protocolVersion', 'does not go with the protocol TCP', version);
}

function healthCheckOf(fields: Fields | undefined, config: GroupConfig) {
  const byDefault = defaultHealthCheck(config);
  const inside = fields?.inside('healthCheck');
  return inside === undefined ? byDefault : editedHealthCheck(inside, byDefault, config);
}
