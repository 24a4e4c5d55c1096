import { describe, expect, test } from 'vitest';
import { InvalidFieldsError } from '../../../../daemon/base/invalid-fields.ts';
import { readGroupRequest } from '../../../../daemon/cluster/targets/groups/group-input.ts';
import { statusMatcher } from '../../../../daemon/cluster/targets/groups/matcher.ts';

const HEALTH = {
  enabled: true,
  protocol: 'HTTP',
  protocolVersion: 'HTTP1',
  path: '/',
  matcher: { httpCode: '200' },
  healthCheckIntervalSeconds: 30,
  healthCheckTimeoutSeconds: 5,
  healthyThresholdCount: 5,
  unhealthyThresholdCount: 2,
};
const TCP_HEALTH = {
  enabled: true,
  protocol: 'TCP',
  healthCheckIntervalSeconds: 30,
  healthCheckTimeoutSeconds: 5,
  healthyThresholdCount: 5,
  unhealthyThresholdCount: 2,
};

/** Names of the fields that a request is refused for, in order. */
function wrongFields(body: unknown): string[] {
  try {
    readGroupRequest(body);
    return [];
  } catch (error) {
    if (error instanceof InvalidFieldsError) {
      return error.fields.map(({ field }) => field);
    }
    throw error;
  }
}

describe('defaults of a target group', () => {
  test.each([
    [
      'IP',
      undefined,
      { port: 80, protocol: 'HTTP', protocolVersion: 'HTTP1', ipAddressType: 'IPV4', healthCheck: HEALTH },
    ],
    ['INSTANCE', {}, { port: 80, protocol: 'HTTP', protocolVersion: 'HTTP1', healthCheck: HEALTH }],
    [
      'INSTANCE',
      { protocol: 'HTTPS' },
      { port: 443, protocol: 'HTTPS', protocolVersion: 'HTTP1', healthCheck: HEALTH },
    ],
    ['INSTANCE', { protocol: 'TCP', port: 5432 }, { port: 5432, protocol: 'TCP', healthCheck: TCP_HEALTH }],
    [
      'INSTANCE',
      { protocolVersion: 'HTTP2' },
      { port: 80, protocol: 'HTTP', protocolVersion: 'HTTP2', healthCheck: { ...HEALTH, enabled: false } },
    ],
    [
      'INSTANCE',
      { protocolVersion: 'GRPC', healthCheck: { enabled: true, protocolVersion: 'HTTP2', path: '/live' } },
      {
        port: 80,
        protocol: 'HTTP',
        protocolVersion: 'GRPC',
        healthCheck: { ...HEALTH, protocolVersion: 'HTTP2', path: '/live' },
      },
    ],
    [
      'INSTANCE',
      { healthCheck: { healthCheckIntervalSeconds: 0, unhealthyThresholdCount: 0, port: 0 } },
      { port: 80, protocol: 'HTTP', protocolVersion: 'HTTP1', healthCheck: HEALTH },
    ],
    [
      'ALB',
      { vpcIdentifier: 'web' },
      { port: 80, protocol: 'HTTP', protocolVersion: 'HTTP1', vpcIdentifier: 'web' },
    ],
    ['LAMBDA', undefined, { lambdaEventStructureVersion: 'V1' }],
    ['LAMBDA', { lambdaEventStructureVersion: 'V2' }, { lambdaEventStructureVersion: 'V2' }],
  ])('%s %j', (type, config, expected) => {
    expect(readGroupRequest({ name: 'web', type, config }).config).toEqual(expected);
  });
});

describe('what a target group may not be', () => {
  const ip = { name: 'web', type: 'IP' };
  test.each([
    [[], ['', 'name', 'type']],
    [{}, ['name', 'type']],
    [{ name: 'ab', type: 'IP' }, ['name']],
    [{ name: 'a'.repeat(129), type: 'IP' }, ['name']],
    [{ name: '-web', type: 'IP' }, ['name']],
    [{ name: 'web-', type: 'IP' }, ['name']],
    [{ name: 'w--eb', type: 'IP' }, ['name']],
    [{ name: 'Web', type: 'IP' }, ['name']],
    [{ name: 'tg-web', type: 'IP' }, ['name']],
    [{ name: 7, type: 'IP' }, ['name']],
    [{ name: 'web', type: 'ip' }, ['type']],
    [{ ...ip, colour: 'red' }, ['colour']],
    [{ ...ip, clientToken: '' }, ['clientToken']],
    [{ ...ip, clientToken: 'with space' }, ['clientToken']],
    [{ ...ip, clientToken: 'a'.repeat(65) }, ['clientToken']],
    [{ ...ip, config: 'x' }, ['config']],
    [{ ...ip, config: { port: 0 } }, ['config.port']],
    [{ ...ip, config: { port: 65_536 } }, ['config.port']],
    [{ ...ip, config: { port: '80' } }, ['config.port']],
    [{ ...ip, config: { protocol: 'UDP' } }, ['config.protocol']],
    [{ ...ip, config: { protocol: 'TCP' } }, ['config.port']],
    [{ ...ip, config: { protocol: 'TCP', port: 1, protocolVersion: 'HTTP1' } }, ['config.protocolVersion']],
    [{ ...ip, config: { protocolVersion: 'HTTP3' } }, ['config.protocolVersion']],
    [{ ...ip, config: { ipAddressType: 'IPV5' } }, ['config.ipAddressType']],
    [{ ...ip, config: { vpcIdentifier: '../x' } }, ['config.vpcIdentifier']],
    [{ ...ip, config: { lambdaEventStructureVersion: 'V1' } }, ['config.lambdaEventStructureVersion']],
    [{ name: 'web', type: 'INSTANCE', config: { ipAddressType: 'IPV4' } }, ['config.ipAddressType']],
    [{ name: 'web', type: 'ALB', config: { healthCheck: {} } }, ['config.healthCheck']],
    [
      {
        name: 'web',
        type: 'LAMBDA',
        config: { healthCheck: {}, port: 80, protocol: 'HTTP', vpcIdentifier: 'a' },
      },
      ['config.healthCheck', 'config.port', 'config.protocol', 'config.vpcIdentifier'],
    ],
    [
      { name: 'web', type: 'LAMBDA', config: { lambdaEventStructureVersion: 'V3' } },
      ['config.lambdaEventStructureVersion'],
    ],
    [{ ...ip, tags: { 'aws:a': '1' } }, ['tags.aws:a']],
    [{ ...ip, tags: { 'berth:a': '1' } }, ['tags.berth:a']],
    [{ ...ip, tags: { ['a'.repeat(129)]: '1' } }, [`tags.${'a'.repeat(129)}`]],
    [{ ...ip, tags: { a: 'b'.repeat(257) } }, ['tags.a']],
    [{ ...ip, tags: { 'a!': '1' } }, ['tags.a!']],
    [{ ...ip, tags: { a: 1 } }, ['tags.a']],
    [{ ...ip, tags: { '': '1' } }, ['tags']],
    [{ ...ip, tags: [] }, ['tags']],
  ])('%j', (body, expected) => {
    expect(wrongFields(body)).toEqual(expected);
  });

  test.each([
    [{ healthCheckIntervalSeconds: 4 }, 'healthCheckIntervalSeconds'],
    [{ healthCheckIntervalSeconds: 301 }, 'healthCheckIntervalSeconds'],
    [{ healthCheckIntervalSeconds: 5.5 }, 'healthCheckIntervalSeconds'],
    [{ healthCheckTimeoutSeconds: 121 }, 'healthCheckTimeoutSeconds'],
    [{ healthCheckTimeoutSeconds: -1 }, 'healthCheckTimeoutSeconds'],
    [{ healthyThresholdCount: 1 }, 'healthyThresholdCount'],
    [{ healthyThresholdCount: 11 }, 'healthyThresholdCount'],
    [{ unhealthyThresholdCount: 1 }, 'unhealthyThresholdCount'],
    [{ unhealthyThresholdCount: 11 }, 'unhealthyThresholdCount'],
    [{ enabled: 'yes' }, 'enabled'],
    [{ path: 'live' }, 'path'],
    [{ path: '/a b' }, 'path'],
    [{ path: `/${'a'.repeat(2048)}` }, 'path'],
    [{ port: 65_536 }, 'port'],
    [{ protocol: 'UDP' }, 'protocol'],
    [{ protocolVersion: 'GRPC' }, 'protocolVersion'],
    [{ protocol: 'TCP', path: '/' }, 'path'],
    [{ matcher: {} }, 'matcher'],
    [{ matcher: { httpCode: '200', grpcCode: '0' } }, 'matcher'],
    [{ matcher: { httpCode: '99' } }, 'matcher.httpCode'],
    [{ matcher: { httpCode: '299-200' } }, 'matcher.httpCode'],
    [{ matcher: { httpCode: '200-' } }, 'matcher.httpCode'],
    [{ matcher: { httpCode: '2xx' } }, 'matcher.httpCode'],
    [{ colour: 'red' }, 'colour'],
  ])('health check %j', (healthCheck, field) => {
    expect(wrongFields({ ...ip, config: { healthCheck } })).toEqual([`config.healthCheck.${field}`]);
  });

  test('a health check of a gRPC group needs HTTP1 or HTTP2', () => {
    const config = { protocolVersion: 'GRPC', healthCheck: { enabled: true } };
    expect(wrongFields({ ...ip, config })).toEqual(['config.healthCheck.protocolVersion']);
  });

  test('all that is wrong is named at once', () => {
    expect(wrongFields({ name: 'A', type: 'IP', config: { port: 0, healthCheck: { path: 'x' } } })).toEqual([
      'name',
      'config.port',
      'config.healthCheck.path',
    ]);
  });
});

test('a name may have 3 to 128 characters, a tag 128 and 256 of any script', () => {
  const tags = { ['ä'.repeat(128)]: '𝔞'.repeat(256), 'a b_.:/=+-@1': '' };
  expect(wrongFields({ name: 'a'.repeat(128), type: 'IP', tags })).toEqual([]);
  expect(wrongFields({ name: '3-4', type: 'IP', tags })).toEqual([]);
});

test('a tag may be named __proto__ and stays a tag', () => {
  const request = readGroupRequest(JSON.parse('{"name":"web","type":"IP","tags":{"__proto__":"x"}}'));
  expect(Object.entries(request.tags)).toEqual([['__proto__', 'x']]);
});

test.each([
  ['200', [200], [201, 199]],
  ['200-299,301', [200, 299, 301], [300, 302]],
])('matcher %s', (text, right, wrong) => {
  const matches = statusMatcher(text);
  expect(right.every(matches)).toBe(true);
  expect(wrong.some(matches)).toBe(false);
});
