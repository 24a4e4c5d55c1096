import { armHere } from '../../../support/fakes/failpoints.ts';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { AccessKeys } from '../../../../daemon/cluster/targets/signing/access-keys.ts';
import { selfSigned } from '../../../support/cluster/certificate.ts';
import { openTargets, startTarget, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';

/** What a step works on. */
interface Bed {
  open: OpenTargets;
  keys: AccessKeys;
  group: string;
  service: string;
  listener: string;
  key: string;
  /** ARN. */
  certificate: string;
}

const shown = selfSigned('shown');
const pairOf = ({ certificate, key }: typeof shown): object => ({ certificate, privateKey: key });

const TARGETS = { targets: [{ id: '10.0.0.1' }] };
const FIXED = { fixedResponse: { statusCode: 404 } };
const ARN = 'arn:berth:vpc-lattice:local:000000000000:targetgroup/';

/** A group with a target, a service with a listener, an access key. */
async function bed(open: OpenTargets): Promise<Bed> {
  const keys = new AccessKeys({ store: open.store, clock: systemClock });
  const made = await open.ask('createTargetGroup', { body: { name: 'web', type: 'IP' } });
  const group = String(made['id']);
  const params = { group };
  await until(
    'it is active',
    async () => (await open.ask('getTargetGroup', { params }))['status'] === 'ACTIVE',
  );
  await open.ask('registerTargets', { params, body: TARGETS });
  const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
  const body = { name: 'main', protocol: 'HTTP', port: 24_917, defaultAction: FIXED };
  const listener = String((await open.ask('createListener', { params: { service }, body }))['id']);
  const { accessKeyId }: { accessKeyId?: unknown } = { ...(await keys.create({ user: 'alice' })) };
  const imported = Object(await open.targets.certificates.import(pairOf(shown)));
  const certificate = String(imported.certificateArn);
  return { open, keys, group, service, listener, key: String(accessKeyId), certificate };
}

const STEPS: readonly [string, (bed: Bed) => Promise<unknown>][] = [
  [
    'targets.create.write',
    ({ open }) => open.ask('createTargetGroup', { body: { name: 'new', type: 'IP' } }),
  ],
  [
    'targets.update.write',
    ({ open, group }) =>
      open.ask('updateTargetGroup', { params: { group }, body: { healthCheck: { path: '/x' } } }),
  ],
  ['targets.delete.write', ({ open, group }) => open.ask('deleteTargetGroup', { params: { group } })],
  [
    'targets.register.write',
    ({ open, group }) =>
      open.ask('registerTargets', { params: { group }, body: { targets: [{ id: '10.0.0.2' }] } }),
  ],
  [
    'targets.deregister.write',
    ({ open, group }) => open.ask('deregisterTargets', { params: { group }, body: TARGETS }),
  ],
  ['targets.service.write', ({ open }) => open.ask('createService', { body: { name: 'new' } })],
  [
    'targets.service.delete',
    async ({ open }) => {
      const { items } = await open.ask('listServices');
      const last = (Array.isArray(items) ? items : []).find(
        (item: unknown) => Object(item)['name'] === 'empty',
      );
      return await open.ask('deleteService', { params: { service: String(Object(last)['id']) } });
    },
  ],
  [
    'targets.listener.write',
    ({ open, service }) =>
      open.ask('createListener', {
        params: { service },
        body: { name: 'other', protocol: 'HTTP', port: 24_918, defaultAction: FIXED },
      }),
  ],
  [
    'targets.listener.update',
    ({ open, service, listener }) =>
      open.ask('updateListener', {
        params: { service, listener },
        body: { defaultAction: { fixedResponse: { statusCode: 410 } } },
      }),
  ],
  [
    'targets.listener.delete',
    ({ open, service, listener }) => open.ask('deleteListener', { params: { service, listener } }),
  ],
  [
    'targets.tag.write',
    ({ open, group }) =>
      open.ask('tagResource', { params: { resource: ARN + group }, body: { tags: { a: '1' } } }),
  ],
  [
    'targets.untag.write',
    ({ open, group }) => open.ask('untagResource', { params: { resource: ARN + group }, query: 'tagKeys=a' }),
  ],
  ['targets.certificate.write', ({ open }) => open.targets.certificates.import(pairOf(shown))],
  [
    'targets.service.update',
    ({ open, service, certificate }) =>
      open.ask('updateService', { params: { service }, body: { certificateArn: certificate } }),
  ],
  ['targets.certificate.delete', ({ open, certificate }) => open.targets.certificates.remove(certificate)],
  ['targets.key.write', ({ keys }) => keys.create({ user: 'bob' })],
  ['targets.key.delete', ({ keys, key }) => keys.remove(key)],
];

test.each(STEPS)(
  '%s: a full disk refuses the request and changes nothing; the next one goes',
  async (point, step) => {
    await using open = await openTargets();
    const made = await bed(open);
    await open.ask('createService', { body: { name: 'empty' } });
    const before = await open.records.list('target');
    armHere(`${point}=errno(ENOSPC)`);
    await expect(step(made)).rejects.toThrow('ENOSPC');
    expect((await open.records.list('target')).records).toEqual(before.records);
    armHere('');
    await step(made);
  },
);

test.each(['targets.create.look', 'targets.create.finish'])(
  '%s: the next look finishes a group',
  async (point) => {
    await using open = await openTargets();
    armHere(`${point}=errno(ENOSPC)`);
    const { id } = await open.ask('createTargetGroup', { body: { name: 'web', type: 'IP' } });
    const params = { group: String(id) };
    await expect(open.targets.groups.finish(params.group)).rejects.toThrow('ENOSPC');
    expect(await open.ask('getTargetGroup', { params })).toMatchObject({ status: 'CREATE_IN_PROGRESS' });
    armHere('');
    await open.targets.groups.sweep();
    expect(await open.ask('getTargetGroup', { params })).toMatchObject({ status: 'ACTIVE' });
  },
);

test('targets.delete.targets: what is left of a group that is gone is swept', async () => {
  await using open = await openTargets();
  const { group } = await bed(open);
  armHere('targets.delete.targets=errno(ENOSPC)');
  await expect(open.ask('deleteTargetGroup', { params: { group } })).rejects.toThrow('ENOSPC');
  expect((await open.records.list('target/')).records).toHaveLength(1);
  armHere('');
  await open.targets.groups.sweep();
  expect((await open.records.list('target/')).records).toEqual([]);
});

test('targets.drained.write: a target that has drained is removed at the next look', async () => {
  await using open = await openTargets();
  const { group, service, listener } = await bed(open);
  const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
  await open.ask('updateListener', { params: { service, listener }, body: { defaultAction } });
  await open.ask('deregisterTargets', { params: { group }, body: TARGETS });
  armHere('targets.drained.write=errno(ENOSPC)');
  await expect(open.targets.registrations.removeDrained(() => true)).rejects.toThrow('ENOSPC');
  armHere('');
  await open.targets.registrations.removeDrained(() => true);
  expect(await open.ask('listTargets', { params: { group } })).toEqual({ items: [] });
});

test('targets.health.write: a verdict that could not be written is written later, and told then', async () => {
  await using target = await startTarget((_req, res) => res.end());
  await using open = await openTargets();
  const { group } = await bed(open);
  const body = { targets: [{ id: '127.0.0.1', port: target.port }] };
  await open.ask('registerTargets', { params: { group }, body });
  armHere('targets.health.write=errno(ENOSPC)@1');
  await open.targets.start();
  await until('it is told', () => open.news.length > 0);
  armHere('');
  expect(open.news).toMatchObject([{ target: { id: '127.0.0.1' }, health: { status: 'HEALTHY' } }]);
});
