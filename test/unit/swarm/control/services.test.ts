import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { isDirty } from '../../../../swarm/planner/updater/dirty.ts';
import { sealedKey } from '../../../../swarm/objects/values.ts';
import { taskRecord } from '../../../support/swarm/builders.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

let rig: ControlRig;

const OPTIONS = { pinImage: false, signal: NOBODY };
const SPEC: ServiceSpec = { Name: 'web', TaskTemplate: { ContainerSpec: { Image: 'busybox' } } };

beforeEach(async () => {
  rig = await controlRig();
});

afterEach(() => rig[Symbol.asyncDispose]());

/** As clients do it: with the version that was read. */
async function update(
  spec: ServiceSpec,
  more: { rollback?: string; registryAuth?: string } = {},
): Promise<void> {
  const { services } = rig.control;
  const { Version } = await services.inspect('web', { insertDefaults: false });
  await services.update('web', spec, {
    ...OPTIONS,
    registryAuthFrom: 'spec',
    rollback: '',
    ...more,
    version: Version.Index ?? 0,
  });
}

test('create: is shown as it was sent, with a mode and nothing else filled in', async () => {
  const { services } = rig.control;
  const { ID } = await services.create(SPEC, OPTIONS);
  expect(ID).toMatch(/^[0-9a-z]{25}$/);
  expect(await services.inspect('web', { insertDefaults: false })).toEqual({
    ID,
    Version: { Index: rig.context.cluster.revision },
    CreatedAt: expect.stringMatching(/^20\d\d-.*Z$/),
    UpdatedAt: expect.stringMatching(/^20\d\d-.*Z$/),
    Spec: {
      Name: 'web',
      Labels: {},
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox', Isolation: 'default' },
        ForceUpdate: 0,
        Runtime: 'container',
      },
      Mode: { Replicated: { Replicas: 1 } },
    },
    Endpoint: { Spec: {} },
  });
});

test('inspect: insertDefaults says what counts where nothing was said', async () => {
  const { services } = rig.control;
  await services.create(SPEC, OPTIONS);
  const defaults = {
    Parallelism: 1,
    FailureAction: 'pause',
    Monitor: 5e9,
    MaxFailureRatio: 0,
    Order: 'stop-first',
  };
  expect((await services.inspect('web', { insertDefaults: true })).Spec).toEqual({
    Name: 'web',
    Labels: {},
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox', StopGracePeriod: 10e9, DNSConfig: {}, Isolation: 'default' },
      Resources: {},
      RestartPolicy: { Condition: 'any', Delay: 5e9, MaxAttempts: 0 },
      Placement: {},
      ForceUpdate: 0,
      Runtime: 'container',
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: defaults,
    RollbackConfig: defaults,
  });
});

test('create: without a name one is made up', async () => {
  const { ID } = await rig.control.services.create({ TaskTemplate: SPEC.TaskTemplate ?? {} }, OPTIONS);
  const { Spec } = await rig.control.services.inspect(ID, { insertDefaults: false });
  expect(Spec.Name).toMatch(/^[a-z]+_[a-z]+$/);
});

test('create: a name is taken once, and is free when its service is removed', async () => {
  const { services } = rig.control;
  await services.create(SPEC, OPTIONS);
  await expect(services.create(SPEC, OPTIONS)).rejects.toMatchObject({
    code: 'conflict',
    message:
      'rpc error: code = AlreadyExists desc = name conflicts with an existing object: service web already exists',
  });
  await services.remove('web');
  await expect(services.inspect('web', { insertDefaults: false })).rejects.toThrow('service web not found');
  await services.create(SPEC, OPTIONS);
});

test('create: a name that another manager takes at the same time is told as taken', async () => {
  const { services } = rig.control;
  const [first, second] = await Promise.allSettled([
    services.create(SPEC, OPTIONS),
    services.create(SPEC, OPTIONS),
  ]);
  expect([first.status, second.status].toSorted()).toEqual(['fulfilled', 'rejected']);
});

test('update: keeps the specification before, has a template of its own, needs the version that was read', async () => {
  const { services } = rig.control;
  const { ID } = await services.create(SPEC, OPTIONS);
  const before = await services.inspect('web', { insertDefaults: false });
  await update({ ...SPEC, Labels: { a: 'b' } });
  const after = await services.inspect('web', { insertDefaults: false });
  expect(after.PreviousSpec).toEqual(before.Spec);
  expect(after.Spec.Labels).toEqual({ a: 'b' });
  expect(after.Version.Index).toBeGreaterThan(before.Version.Index ?? 0);
  expect(rig.context.cluster.state.services.get(ID)?.record).toMatchObject({
    template: 2,
    templatesIssued: 2,
  });
  expect([...(rig.context.cluster.state.services.get(ID)?.templates.keys() ?? [])]).toEqual([1, 2]);
  await expect(
    services.update('web', SPEC, {
      ...OPTIONS,
      version: before.Version.Index ?? 0,
      registryAuthFrom: 'spec',
      rollback: '',
    }),
  ).rejects.toMatchObject({ message: 'rpc error: code = Unknown desc = update out of sequence' });
});

test('49: a manual rollback swaps the two specifications, and their credentials', async () => {
  const { services } = rig.control;
  const { ID } = await services.create(SPEC, { ...OPTIONS, registryAuth: 'old' });
  await update({ ...SPEC, Labels: { a: 'b' } }, { registryAuth: 'new' });
  await update(SPEC, { rollback: 'previous' });
  const { Spec, PreviousSpec } = await services.inspect('web', { insertDefaults: false });
  expect([Spec.Labels, PreviousSpec?.Labels]).toEqual([{}, { a: 'b' }]);
  const { cluster, sealer } = rig.context;
  expect(cluster.state.services.get(ID)?.record).toMatchObject({
    template: 1,
    templatesIssued: 2,
    rollback: { message: 'manually requested rollback' },
  });
  const read = (key: string): string =>
    sealer.open(key, cluster.value(key)?.value ?? Buffer.alloc(0)).toString();
  expect(read(sealedKey.registryAuth(ID))).toBe('old');
  expect(read(sealedKey.previousRegistryAuth(ID))).toBe('new');
});

test('update: what is told of an earlier update is not told of this one', async () => {
  const { services } = rig.control;
  const { ID } = await services.create(SPEC, OPTIONS);
  await update({ ...SPEC, TaskTemplate: { ...SPEC.TaskTemplate, ForceUpdate: 1 } });
  const run = {
    id: ID,
    update: { state: 'completed', message: 'update completed', started: 5, template: 2 },
  };
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      put('serviceRun', { ...run, update: { ...run.update, state: 'completed', slots: 1, failed: [] } }),
    ],
  });
  expect((await services.inspect('web', { insertDefaults: false })).UpdateStatus).toEqual({
    State: 'completed',
    StartedAt: '1970-01-01T00:00:00.005Z',
    Message: 'update completed',
  });
  await update({ ...SPEC, Mode: { Replicated: { Replicas: 3 } } });
  expect((await services.inspect('web', { insertDefaults: false })).UpdateStatus).toBeUndefined();
});

test('update: credentials that were not sent stay, or are those before', async () => {
  const { ID } = await rig.control.services.create(SPEC, { ...OPTIONS, registryAuth: 'old' });
  await update(SPEC);
  const { cluster, sealer } = rig.context;
  const key = sealedKey.registryAuth(ID);
  expect(sealer.open(key, cluster.value(key)?.value ?? Buffer.alloc(0)).toString()).toBe('old');
  expect(cluster.value(key)?.value.toString('latin1')).not.toContain('old');
  await rig.control.services.remove('web');
  expect([cluster.value(key), cluster.value(sealedKey.previousRegistryAuth(ID))]).toEqual([
    undefined,
    undefined,
  ]);
});

test('45: other credentials alone replace no task; the next one is pulled with them', async () => {
  const { services, tasks } = rig.control;
  const { cluster, sealer } = rig.context;
  const { ID } = await services.create(SPEC, { ...OPTIONS, registryAuth: 'old' });
  await cluster.commit({ conditions: [], parts: [put('task', taskRecord('t', ID, { slot: 1 }))] });
  await update(SPEC, { registryAuth: 'new' });
  const key = sealedKey.registryAuth(ID);
  expect(sealer.open(key, cluster.value(key)?.value ?? Buffer.alloc(0)).toString()).toBe('new');
  expect((await tasks.list(new Map([['_up-to-date', ['true']]]))).map((task) => task.ID)).toEqual(['t']);
  const service = cluster.state.services.get(ID);
  const task = cluster.state.tasks.get('t');
  expect(isDirty(cluster.state, service!, service!.record!, task!)).toBe(false);
});

test('20: each update of a job is another run of it', async () => {
  const { services } = rig.control;
  await services.create({ ...SPEC, Mode: { ReplicatedJob: { TotalCompletions: 3 } } }, OPTIONS);
  const { JobStatus, Spec } = await services.inspect('web', { insertDefaults: false });
  expect(JobStatus).toEqual({ JobIteration: {}, LastExecution: expect.stringMatching(/Z$/) });
  expect(Spec.Mode).toEqual({ ReplicatedJob: { MaxConcurrent: 1, TotalCompletions: 3 } });
  await update({ ...Spec, Labels: { again: '1' } });
  expect((await services.inspect('web', { insertDefaults: false })).JobStatus?.JobIteration).toEqual({
    Index: 1,
  });
});

test('create: an image is pinned for clients that leave it to the manager, or they are warned', async () => {
  const pinned = { pinImage: true, signal: NOBODY };
  const { services } = rig.control;
  expect(await services.create(SPEC, pinned)).toEqual({ ID: expect.any(String) });
  const { Spec } = await services.inspect('web', { insertDefaults: false });
  expect(Spec.TaskTemplate?.ContainerSpec?.Image).toBe(`busybox@sha256:${'a'.repeat(64)}`);
  await using offline = await controlRig({
    images: { isReference: () => true, pin: () => Promise.reject(new Error('no route to host')) },
  });
  const { Warnings } = await offline.control.services.create(SPEC, pinned);
  expect(Warnings).toEqual([
    'image busybox could not be accessed on a registry to record\n' +
      'its digest. Each node will access busybox independently,\n' +
      'possibly leading to different nodes running different\n' +
      'versions of the image.\n',
  ]);
});
