import {
  ConflictException,
  CreateListenerCommand,
  CreateServiceCommand,
  CreateTargetGroupCommand,
  DeleteListenerCommand,
  DeleteServiceCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  GetListenerCommand,
  GetServiceCommand,
  GetTargetGroupCommand,
  ListListenersCommand,
  ListServicesCommand,
  ListTagsForResourceCommand,
  ListTargetsCommand,
  paginateListTargetGroups,
  RegisterTargetsCommand,
  ResourceNotFoundException,
  ServiceQuotaExceededException,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateListenerCommand,
  UpdateServiceCommand,
  UpdateTargetGroupCommand,
  ValidationException,
  AccessDeniedException,
  VPCLatticeClient,
} from '@aws-sdk/client-vpc-lattice';
import { expect, test } from 'vitest';
import { selfSigned } from '../../support/cluster/certificate.ts';
import { serveTargets, type ServedTargets } from '../../support/cluster/served-targets.ts';
import { until } from '../../support/engine/http.ts';

/** The client of AWS with the keys of a user. */
async function clientOf(served: ServedTargets, user: string): Promise<VPCLatticeClient> {
  return new VPCLatticeClient({
    endpoint: served.url,
    region: 'local',
    credentials: await served.keys(user),
    maxAttempts: 1,
  });
}

async function active(client: VPCLatticeClient, targetGroupIdentifier: string): Promise<void> {
  await until('the group is active', async () => {
    const { status } = await client.send(new GetTargetGroupCommand({ targetGroupIdentifier }));
    return status === 'ACTIVE';
  });
}

const list = async (client: VPCLatticeClient): Promise<unknown> =>
  await client.send(new ListServicesCommand({}));

const ask = (url: string, authorization?: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/targetgroups`, { ...init, headers: authorization === undefined ? {} : { authorization } });

test('@aws-sdk/client-vpc-lattice: a group from its creation to its end, by id and by ARN', async () => {
  await using served = await serveTargets();
  const client = await clientOf(served, 'alice');
  const made = await client.send(
    new CreateTargetGroupCommand({
      name: 'web',
      type: 'IP',
      config: {
        port: 8080,
        protocol: 'HTTP',
        vpcIdentifier: 'vpc-0123456789abcdef0',
        healthCheck: { path: '/live' },
      },
      tags: { team: 'a b' },
    }),
  );
  expect(made).toMatchObject({ name: 'web', type: 'IP', status: 'CREATE_IN_PROGRESS' });
  const { id = '', arn = '' } = made;
  await active(client, id);
  expect(await client.send(new GetTargetGroupCommand({ targetGroupIdentifier: arn }))).toMatchObject({
    id,
    createdAt: expect.any(Date),
    config: {
      port: 8080,
      ipAddressType: 'IPV4',
      healthCheck: { path: '/live', matcher: { httpCode: '200' } },
    },
  });
  const changed = await client.send(
    new UpdateTargetGroupCommand({ targetGroupIdentifier: arn, healthCheck: { healthyThresholdCount: 3 } }),
  );
  expect(changed.config?.healthCheck).toMatchObject({ healthyThresholdCount: 3, path: '/live' });

  const targets = [{ id: '10.0.0.1' }, { id: '10.0.0.2', port: 81 }];
  const registered = await client.send(
    new RegisterTargetsCommand({ targetGroupIdentifier: id, targets: [...targets, { id: 'x' }] }),
  );
  expect(registered.successful).toEqual([{ id: '10.0.0.1', port: 8080 }, targets[1]]);
  expect(registered.unsuccessful).toMatchObject([{ id: 'x', failureCode: 'InvalidTarget' }]);
  const listed = await client.send(new ListTargetsCommand({ targetGroupIdentifier: id, maxResults: 1 }));
  expect(listed.items).toMatchObject([{ id: '10.0.0.1', status: 'UNUSED' }]);
  const rest = await client.send(
    new ListTargetsCommand({ targetGroupIdentifier: id, nextToken: listed.nextToken }),
  );
  expect(rest.items).toMatchObject([{ id: '10.0.0.2' }]);
  const gone = await client.send(new DeregisterTargetsCommand({ targetGroupIdentifier: id, targets }));
  expect(gone.unsuccessful).toEqual([]);

  await client.send(new TagResourceCommand({ resourceArn: arn, tags: { more: '1' } }));
  await client.send(new UntagResourceCommand({ resourceArn: arn, tagKeys: ['team', 'ä/b'] }));
  expect((await client.send(new ListTagsForResourceCommand({ resourceArn: arn }))).tags).toEqual({
    more: '1',
  });

  const deleted = await client.send(new DeleteTargetGroupCommand({ targetGroupIdentifier: arn }));
  expect(deleted).toMatchObject({ id, arn, status: 'DELETE_IN_PROGRESS' });
});

test('@aws-sdk/client-vpc-lattice: pages of groups', async () => {
  await using served = await serveTargets();
  const client = await clientOf(served, 'alice');
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    await client.send(new CreateTargetGroupCommand({ name, type: 'INSTANCE' }));
  }
  const names = new Set<string | undefined>();
  let pages = 0;
  for await (const { items = [] } of paginateListTargetGroups(
    { client, pageSize: 2 },
    { targetGroupType: 'INSTANCE' },
  )) {
    items.forEach(({ name }) => names.add(name));
    pages += 1;
  }
  expect([pages, names]).toEqual([3, new Set(['five', 'four', 'one', 'three', 'two'])]);
});

test('@aws-sdk/client-vpc-lattice: services and listeners', async () => {
  await using served = await serveTargets();
  const client = await clientOf(served, 'alice');
  const group = await client.send(new CreateTargetGroupCommand({ name: 'web', type: 'IP' }));
  await active(client, group.id ?? '');
  const service = await client.send(new CreateServiceCommand({ name: 'shop' }));
  const serviceIdentifier = service.arn ?? '';
  const targetGroups = [{ targetGroupIdentifier: group.arn ?? '', weight: 10 }];
  const listener = await client.send(
    new CreateListenerCommand({
      serviceIdentifier,
      name: 'main',
      protocol: 'HTTP',
      port: 28_431,
      defaultAction: { forward: { targetGroups } },
    }),
  );
  const listenerIdentifier = listener.arn ?? '';
  expect(await client.send(new GetListenerCommand({ serviceIdentifier, listenerIdentifier }))).toMatchObject({
    port: 28_431,
    serviceId: service.id,
    defaultAction: { forward: { targetGroups: [{ targetGroupIdentifier: group.id, weight: 10 }] } },
  });
  await client.send(
    new UpdateListenerCommand({
      serviceIdentifier,
      listenerIdentifier,
      defaultAction: { fixedResponse: { statusCode: 404 } },
    }),
  );
  const { items } = await client.send(new ListListenersCommand({ serviceIdentifier }));
  expect(items).toMatchObject([{ name: 'main' }]);
  expect((await client.send(new GetServiceCommand({ serviceIdentifier }))).name).toBe('shop');
  const { certificate, key: privateKey } = selfSigned('shop');
  const imported = Object(await served.open.targets.certificates.import({ certificate, privateKey }));
  const certificateArn = String(imported.certificateArn);
  expect(await client.send(new UpdateServiceCommand({ serviceIdentifier, certificateArn }))).toMatchObject({
    name: 'shop',
    certificateArn,
    authType: 'NONE',
  });
  const missing = `${certificateArn.slice(0, -8)}00000000`;
  const wrong = client.send(new CreateServiceCommand({ name: 'other', certificateArn: missing }));
  await expect(wrong).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    resourceType: 'CERTIFICATE',
  });
  await client.send(new DeleteListenerCommand({ serviceIdentifier, listenerIdentifier }));
  await client.send(new DeleteServiceCommand({ serviceIdentifier }));
  expect((await client.send(new ListServicesCommand({}))).items).toEqual([]);
});

test('@aws-sdk/client-vpc-lattice: errors are those of the client, with their parts', async () => {
  await using served = await serveTargets();
  const client = await clientOf(served, 'alice');
  const create = (name: string, more: object = {}): Promise<unknown> =>
    client.send(new CreateTargetGroupCommand({ name, type: 'IP', ...more }));
  await create('web', { clientToken: 'one' });
  await create('web', { clientToken: 'one' });
  await expect(create('other', { clientToken: 'one' })).rejects.toBeInstanceOf(ConflictException);
  const taken = await create('web').catch((error: unknown) => error);
  expect(taken).toBeInstanceOf(ConflictException);
  expect(taken).toMatchObject({ resourceType: 'TARGET_GROUP', resourceId: expect.stringMatching(/^tg-/) });
  const wrong = await create('W', { config: { port: 70_000 } }).catch((error: unknown) => error);
  expect(wrong).toBeInstanceOf(ValidationException);
  expect(wrong).toMatchObject({
    reason: 'fieldValidationFailed',
    fieldList: [{ name: 'name' }, { name: 'config.port' }],
  });
  const missing = client.send(new GetTargetGroupCommand({ targetGroupIdentifier: 'tg-00000000000000000' }));
  await expect(missing).rejects.toBeInstanceOf(ResourceNotFoundException);
  for (let count = 1; count < 500; count += 1) {
    await served.open.ask('createTargetGroup', { body: { name: `web-${count}`, type: 'IP' } });
  }
  await expect(create('one-more')).rejects.toBeInstanceOf(ServiceQuotaExceededException);
});

test('@aws-sdk/client-vpc-lattice: who signs wrongly, may only look or may not come in', async () => {
  await using served = await serveTargets();
  const create = new CreateTargetGroupCommand({ name: 'web', type: 'IP' });
  const bob = await clientOf(served, 'bob');
  await list(bob);
  await expect(bob.send(create)).rejects.toBeInstanceOf(AccessDeniedException);
  await expect(list(await clientOf(served, 'carol'))).rejects.toBeInstanceOf(AccessDeniedException);
  const keys = await served.keys('alice');
  const options = { endpoint: served.url, region: 'local', maxAttempts: 1 };
  const wrong = new VPCLatticeClient({ ...options, credentials: { ...keys, secretAccessKey: 'x' } });
  await expect(list(wrong)).rejects.toMatchObject({ name: 'InvalidSignatureException' });
  const unknown = new VPCLatticeClient({ ...options, credentials: { ...keys, accessKeyId: 'BKNONE' } });
  await expect(list(unknown)).rejects.toMatchObject({ name: 'UnrecognizedClientException' });
});

test('requests without a signature: tokens of the hub, and none where that is configured', async () => {
  await using served = await serveTargets();
  const create = { method: 'POST', body: '{"name":"web","type":"IP"}' };
  expect((await ask(served.url, 'Bearer alice', create)).status).toBe(201);
  expect((await ask(served.url, 'Bearer bob')).status).toBe(200);
  expect((await ask(served.url, 'Bearer bob', { ...create, body: '{}' })).status).toBe(403);
  expect((await ask(served.url, 'Bearer carol')).status).toBe(403);
  expect((await ask(served.url, 'Bearer x')).headers.get('x-amzn-errortype')).toBe(
    'UnrecognizedClientException',
  );
  const unsigned = await ask(served.url);
  expect([unsigned.status, unsigned.headers.get('x-amzn-errortype')]).toEqual([
    403,
    'MissingAuthenticationTokenException',
  ]);
  await using open = await serveTargets({}, true);
  expect((await ask(open.url, undefined, create)).status).toBe(201);
  const broken = await ask(open.url, undefined, { method: 'POST', body: '{' });
  expect([broken.status, Object(await broken.json()).reason]).toEqual([400, 'cannotParse']);
});
