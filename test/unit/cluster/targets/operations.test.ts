import { describe, expect, test } from 'vitest';
import { isEngineError } from '../../../../daemon/base/errors.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { openTargets, type OpenTargets } from '../../../support/cluster/open-targets.ts';

/** Code and details of what is thrown. */
async function refusal(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { answered: await promise };
  } catch (error) {
    return isEngineError(error) ? { code: error.code, ...error.details } : error;
  }
}

async function created(open: OpenTargets, body: object): Promise<string> {
  const { id } = await open.ask('createTargetGroup', { body });
  await settled();
  return String(id);
}

const web = { name: 'web', type: 'IP' };

describe('create-target-group', () => {
  test('a group is CREATE_IN_PROGRESS, then ACTIVE', async () => {
    await using open = await openTargets({}, new ManualClock());
    const answer = await open.ask('createTargetGroup', { body: { ...web, tags: { team: 'a' } } });
    expect(answer).toMatchObject({ name: 'web', type: 'IP', status: 'CREATE_IN_PROGRESS' });
    expect(String(answer['id'])).toMatch(/^tg-[0-9a-z]{17}$/);
    expect(String(answer['arn'])).toMatch(
      /^arn:[a-z0-9-]+:vpc-lattice:[a-zA-Z0-9-]+:\d{12}:targetgroup\/tg-[0-9a-z]{17}$/,
    );
    await settled();
    const found = await open.ask('getTargetGroup', { params: { group: String(answer['arn']) } });
    expect(found).toMatchObject({ id: answer['id'], status: 'ACTIVE', serviceArns: [] });
    expect(found['createdAt']).toBe('2026-01-01T00:00:00.000Z');
  });

  test('a group of functions is answered without configuration', async () => {
    await using open = await openTargets();
    const answer = await open.ask('createTargetGroup', { body: { name: 'hello', type: 'LAMBDA' } });
    expect(Object.keys(answer).toSorted()).toEqual(['arn', 'id', 'name', 'status', 'type']);
  });

  test('the same token and parameters answer the same group, others are refused', async () => {
    await using open = await openTargets();
    const id = await created(open, { ...web, clientToken: 'one' });
    expect(await open.ask('createTargetGroup', { body: { ...web, clientToken: 'one' } })).toMatchObject({
      id,
      status: 'ACTIVE',
    });
    for (const body of [
      { ...web, clientToken: 'one', tags: { a: 'b' } },
      { ...web, name: 'other', clientToken: 'one' },
      { ...web, clientToken: 'two' },
      { ...web },
    ]) {
      expect(await refusal(open.ask('createTargetGroup', { body }))).toEqual({
        code: 'conflict',
        resourceId: id,
        resourceType: 'TARGET_GROUP',
      });
    }
    // Tokens are case-sensitive.
    const again = { ...web, name: 'other', clientToken: 'ONE' };
    expect(await open.ask('createTargetGroup', { body: again })).toMatchObject({ name: 'other' });
  });

  test('a retry while it is made changes nothing, whatever its token is', async () => {
    await using open = await openTargets({
      places: { find: () => Promise.resolve(undefined), problem: () => new Promise(() => undefined) },
    });
    const { id } = await open.ask('createTargetGroup', { body: web });
    expect(await open.ask('createTargetGroup', { body: { ...web, clientToken: 'x' } })).toMatchObject({
      id,
      status: 'CREATE_IN_PROGRESS',
    });
    expect(await refusal(open.ask('deleteTargetGroup', { params: { group: String(id) } }))).toMatchObject({
      code: 'conflict',
    });
  });

  test('a group that cannot be made is CREATE_FAILED with a reason, and may be tried again', async () => {
    await using open = await openTargets();
    const id = await created(open, { ...web, clientToken: 'one', config: { vpcIdentifier: 'nowhere' } });
    expect(await open.ask('getTargetGroup', { params: { group: id } })).toMatchObject({
      status: 'CREATE_FAILED',
      failureCode: 'NetworkNotFound',
      failureMessage: 'there is no network nowhere',
    });
    const again = { ...web, clientToken: 'one', config: { vpcIdentifier: 'web' } };
    expect(await open.ask('createTargetGroup', { body: again })).toMatchObject({
      id,
      status: 'CREATE_IN_PROGRESS',
    });
    await settled();
    const found = await open.ask('getTargetGroup', { params: { group: id } });
    expect(found).toMatchObject({ status: 'ACTIVE', config: { vpcIdentifier: 'web' } });
    expect(found).not.toHaveProperty('failureCode');
  });

  test('a group that a killed daemon left unfinished is finished by the next one', async () => {
    await using first = await openTargets({
      places: { find: () => Promise.resolve(undefined), problem: () => new Promise(() => undefined) },
    });
    const { id } = await first.ask('createTargetGroup', { body: web });
    await using second = await openTargets({}, undefined, first.records);
    await second.targets.groups.sweep();
    expect(await second.ask('getTargetGroup', { params: { group: String(id) } })).toMatchObject({
      status: 'ACTIVE',
    });
  });

  test('two at once with one name make one group', async () => {
    await using first = await openTargets();
    await using second = await openTargets({}, undefined, first.records);
    const results = await Promise.all(
      [first, second].map((open, index) =>
        refusal(open.ask('createTargetGroup', { body: { ...web, tags: { index: String(index) } } })),
      ),
    );
    expect(results.filter((result) => Object.hasOwn(Object(result), 'answered'))).toHaveLength(1);
  });
});

describe('groups', () => {
  test('lists have pages, and are of a type and a network', async () => {
    await using open = await openTargets();
    for (const name of ['one', 'two', 'three']) {
      await created(open, { name, type: 'IP' });
    }
    await created(open, { name: 'four', type: 'INSTANCE', config: { vpcIdentifier: 'back' } });
    const first = await open.ask('listTargetGroups', { query: 'maxResults=3' });
    const rest = await open.ask('listTargetGroups', { query: `nextToken=${String(first['nextToken'])}` });
    expect([Object(first['items']).length, Object(rest['items']).length]).toEqual([3, 1]);
    expect(rest).not.toHaveProperty('nextToken');
    const instances = await open.ask('listTargetGroups', { query: 'targetGroupType=INSTANCE' });
    expect(instances['items']).toMatchObject([
      { name: 'four', port: 80, protocol: 'HTTP', vpcIdentifier: 'back' },
    ]);
    expect(await open.ask('listTargetGroups', { query: 'vpcIdentifier=x' })).toEqual({ items: [] });
    for (const query of [
      'maxResults=0',
      'maxResults=101',
      'maxResults=x',
      'nextToken=!',
      'targetGroupType=X',
    ]) {
      expect(await refusal(open.ask('listTargetGroups', { query })), query).toMatchObject({
        code: 'invalid_argument',
      });
    }
  });

  test('only the health check changes, and 0 makes it the default', async () => {
    await using open = await openTargets();
    const group = await created(open, {
      ...web,
      config: { healthCheck: { healthyThresholdCount: 7, path: '/a' } },
    });
    const body = { healthCheck: { healthyThresholdCount: 0, unhealthyThresholdCount: 9 } };
    const { config } = await open.ask('updateTargetGroup', { params: { group }, body });
    expect(config).toMatchObject({
      healthCheck: { healthyThresholdCount: 5, unhealthyThresholdCount: 9, path: '/a' },
    });
    for (const wrong of [{}, { healthCheck: {}, port: 80 }, { healthCheck: { path: 'x' } }]) {
      expect(await refusal(open.ask('updateTargetGroup', { params: { group }, body: wrong }))).toMatchObject({
        code: 'invalid_argument',
      });
    }
    const functions = await created(open, { name: 'hello', type: 'LAMBDA' });
    const refused = open.ask('updateTargetGroup', {
      params: { group: functions },
      body: { healthCheck: {} },
    });
    expect(await refusal(refused)).toMatchObject({ code: 'invalid_argument' });
  });

  test('a group that is deleted is gone with its targets, and its name is free', async () => {
    await using open = await openTargets();
    const group = await created(open, { ...web, clientToken: 'one' });
    const targets = Array.from({ length: 100 }, (_, index) => ({ id: `10.0.0.${index}` }));
    await open.ask('registerTargets', { params: { group }, body: { targets } });
    expect(await open.ask('deleteTargetGroup', { params: { group } })).toMatchObject({
      id: group,
      status: 'DELETE_IN_PROGRESS',
    });
    expect(await refusal(open.ask('getTargetGroup', { params: { group } }))).toEqual({
      code: 'not_found',
      resourceId: group,
      resourceType: 'TARGET_GROUP',
    });
    expect((await open.records.list('target/')).records).toEqual([]);
    expect(await created(open, { ...web, clientToken: 'one' })).not.toBe(group);
  });
});

describe('targets', () => {
  test('those that cannot be are named, the others are registered', async () => {
    await using open = await openTargets();
    const group = await created(open, web);
    const targets = [
      { id: '10.0.0.1' },
      { id: '10.0.0.1', port: 81 },
      { id: '::1' },
      { id: 'web' },
      { id: '0.0.0.0' },
    ];
    const answer = await open.ask('registerTargets', { params: { group }, body: { targets } });
    expect(answer['successful']).toEqual([
      { id: '10.0.0.1', port: 80 },
      { id: '10.0.0.1', port: 81 },
    ]);
    expect(answer['unsuccessful']).toMatchObject([
      { id: '::1', failureCode: 'InvalidTarget' },
      { id: 'web', failureCode: 'InvalidTarget' },
      { id: '0.0.0.0', failureCode: 'InvalidTarget' },
    ]);
    const unused = { status: 'UNUSED', reasonCode: 'TargetGroupNotInUse' };
    expect(await open.ask('listTargets', { params: { group } })).toEqual({
      items: [
        { id: '10.0.0.1', port: 80, ...unused },
        { id: '10.0.0.1', port: 81, ...unused },
      ],
    });
    const one = { targets: [{ id: '10.0.0.1', port: 81 }] };
    expect((await open.ask('listTargets', { params: { group }, body: one }))['items']).toHaveLength(1);
  });

  test.each([
    '::ffff:169.254.169.254',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '0:0:0:0:0:0:0:0',
    'FE80::1',
    'ff02::1',
    'fe80::1%eth0',
    '10.0.0.1',
  ])('%s is no target of IPv6', async (id) => {
    await using open = await openTargets();
    const group = await created(open, { ...web, config: { ipAddressType: 'IPV6' } });
    const answer = await open.ask('registerTargets', { params: { group }, body: { targets: [{ id }] } });
    expect(answer).toMatchObject({ successful: [], unsuccessful: [{ id, failureCode: 'InvalidTarget' }] });
  });

  test.each([
    ['no body', undefined],
    ['no targets', { targets: [] }],
    ['too many', { targets: Array.from({ length: 101 }, () => ({ id: '10.0.0.1' })) }],
    ['no id', { targets: [{ port: 80 }] }],
    ['a long id', { targets: [{ id: 'a'.repeat(201) }] }],
    ['a wrong port', { targets: [{ id: '10.0.0.1', port: 0 }] }],
    ['an unknown field', { targets: [{ id: '10.0.0.1', weight: 1 }] }],
  ])('register-targets with %s is refused', async (_what, body) => {
    await using open = await openTargets();
    const group = await created(open, web);
    expect(await refusal(open.ask('registerTargets', { params: { group }, body }))).toMatchObject({
      code: 'invalid_argument',
    });
  });

  test('a group of functions has one target, without a port', async () => {
    await using open = await openTargets();
    const group = await created(open, { name: 'hello', type: 'LAMBDA' });
    const ask = async (target: object) =>
      await open.ask('registerTargets', { params: { group }, body: { targets: [target] } });
    expect(await ask({ id: 'app/hello:1', port: 80 })).toMatchObject({
      unsuccessful: [{ failureCode: 'InvalidPort' }],
    });
    expect(await ask({ id: 'app hello' })).toMatchObject({
      unsuccessful: [{ failureCode: 'InvalidTarget' }],
    });
    expect(await ask({ id: 'app/hello:1' })).toMatchObject({ successful: [{ id: 'app/hello:1' }] });
    expect(await ask({ id: 'app/other:1' })).toMatchObject({
      unsuccessful: [{ failureCode: 'QuotaExceeded' }],
    });
  });

  test('a target of a used group drains, and is gone when its time is over', async () => {
    const clock = new ManualClock();
    await using open = await openTargets({ hasPeers: () => true }, clock);
    const group = await created(open, web);
    await forwarded(open, group);
    const body = { targets: [{ id: '10.0.0.1' }] };
    await open.ask('registerTargets', { params: { group }, body });
    const status = async () =>
      Object((await open.ask('listTargets', { params: { group } }))['items'])[0]?.status;
    expect(await status()).toBe('INITIAL');
    await open.ask('deregisterTargets', { params: { group }, body });
    expect(await status()).toBe('DRAINING');
    await open.ask('registerTargets', { params: { group }, body });
    expect(await status()).toBe('INITIAL');
    await open.ask('deregisterTargets', { params: { group }, body });
    await clock.advance(299_000);
    await open.targets.registrations.removeDrained(() => false);
    expect(await status()).toBe('DRAINING');
    await clock.advance(2_000);
    await open.targets.registrations.removeDrained(() => false);
    expect(await status()).toBeUndefined();
    expect(await open.ask('deregisterTargets', { params: { group }, body })).toMatchObject({
      unsuccessful: [{ id: '10.0.0.1', failureCode: 'TargetNotFound' }],
    });
  });
});

async function forwarded(
  open: OpenTargets,
  group: string,
  port = 0,
): Promise<{ service: string; listener: string }> {
  const service = String((await open.ask('createService', { body: { name: `of-${group.slice(3)}` } }))['id']);
  const targetGroups = [{ targetGroupIdentifier: group }];
  const body = {
    name: 'main',
    protocol: 'HTTP',
    port: port || 20_000 + Math.floor(Math.random() * 10_000),
    defaultAction: { forward: { targetGroups } },
  };
  const listener = String((await open.ask('createListener', { params: { service }, body }))['id']);
  return { service, listener };
}

describe('services and listeners', () => {
  test('a group is used by one service, and cannot be deleted then', async () => {
    await using open = await openTargets();
    const group = await created(open, web);
    const { service, listener } = await forwarded(open, group);
    const found = await open.ask('getTargetGroup', { params: { group } });
    expect(found['serviceArns']).toEqual([`arn:berth:vpc-lattice:local:000000000000:service/${service}`]);
    expect(await refusal(open.ask('deleteTargetGroup', { params: { group } }))).toMatchObject({
      code: 'conflict',
    });
    const other = String((await open.ask('createService', { body: { name: 'other' } }))['id']);
    const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
    const body = { name: 'main', protocol: 'HTTP', port: 18_081, defaultAction };
    expect(await refusal(open.ask('createListener', { params: { service: other }, body }))).toMatchObject({
      code: 'conflict',
      resourceId: group,
    });
    await open.ask('deleteService', { params: { service: other } });
    expect(await refusal(open.ask('deleteService', { params: { service } }))).toMatchObject({
      code: 'conflict',
    });
    await open.ask('deleteListener', { params: { service, listener } });
    await open.ask('deleteService', { params: { service } });
    await open.ask('deleteTargetGroup', { params: { group } });
    expect((await open.records.list('target')).records).toEqual([]);
  });

  test('a listener of HTTP takes groups of gRPC and HTTP2, and refuses one of TCP', async () => {
    await using open = await openTargets();
    const config = { port: 80, protocol: 'HTTP', vpcIdentifier: 'app' };
    const grpc = await created(open, {
      name: 'calls',
      type: 'IP',
      config: { ...config, protocolVersion: 'GRPC' },
    });
    await forwarded(open, grpc);
    const tcp = await created(open, { name: 'bytes', type: 'IP', config: { port: 80, protocol: 'TCP' } });
    await expect(forwarded(open, tcp)).rejects.toThrow(
      'a listener of HTTP cannot forward to the target group bytes of TCP',
    );
    const modern = { name: 'modern', type: 'IP', config: { ...config, protocolVersion: 'HTTP2' } };
    await forwarded(open, await created(open, modern));
  });

  test('an action with two keys, no group, an unknown one or a group twice is refused', async () => {
    await using open = await openTargets();
    const group = await created(open, web);
    const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
    const to = { targetGroupIdentifier: group };
    for (const [defaultAction, code] of [
      [{}, 'invalid_argument'],
      [{ forward: { targetGroups: [to] }, fixedResponse: { statusCode: 404 } }, 'invalid_argument'],
      [{ forward: { targetGroups: [] } }, 'invalid_argument'],
      [{ forward: { targetGroups: [to, to] } }, 'invalid_argument'],
      [{ forward: { targetGroups: [{ ...to, weight: 1000 }] } }, 'invalid_argument'],
      [{ fixedResponse: { statusCode: 99 } }, 'invalid_argument'],
      [{ forward: { targetGroups: [{ targetGroupIdentifier: 'tg-none' }] } }, 'not_found'],
    ] as const) {
      const body = { name: 'main', protocol: 'HTTP', port: 18_080, defaultAction };
      expect(await refusal(open.ask('createListener', { params: { service }, body }))).toMatchObject({
        code,
      });
    }
    const tls = {
      name: 'main',
      protocol: 'HTTPS',
      port: 18_080,
      defaultAction: { fixedResponse: { statusCode: 404 } },
    };
    await expect(open.ask('createListener', { params: { service }, body: tls })).rejects.toThrow(
      'protocol: needs a certificate: certificateArn of the service, or cluster.tls-cert and cluster.tls-key',
    );
  });
});

test('tags: read, added, given other values and taken away, by ARN', async () => {
  await using open = await openTargets();
  const group = await created(open, { ...web, tags: { a: '1', b: '2' } });
  const params = { resource: `arn:berth:vpc-lattice:local:000000000000:targetgroup/${group}` };
  await open.ask('tagResource', { params, body: { tags: { b: '3', c: '4' } } });
  await open.ask('untagResource', { params, query: 'tagKeys=a&tagKeys=none' });
  expect(await open.ask('listTags', { params })).toEqual({ tags: { b: '3', c: '4' } });
  for (const refused of [
    open.ask('tagResource', { params, body: {} }),
    open.ask('tagResource', { params, body: { tags: { 'aws:x': '1' } } }),
    open.ask('untagResource', { params }),
  ]) {
    expect(await refusal(refused)).toMatchObject({ code: 'invalid_argument' });
  }
  const many = Object.fromEntries(Array.from({ length: 199 }, (_, index) => [`k${index}`, '']));
  expect(await refusal(open.ask('tagResource', { params, body: { tags: many } }))).toMatchObject({
    code: 'invalid_argument',
  });
  expect(await refusal(open.ask('listTags', { params: { resource: 'tg-none' } }))).toMatchObject({
    code: 'not_found',
  });
});
