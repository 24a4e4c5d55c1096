import { beforeEach, describe, expect, test } from 'vitest';
import { sealedKey } from '../../../../swarm/objects/values.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

const INVALID = 'rpc error: code = InvalidArgument desc = ';
const DATA = Buffer.from('geheim').toString('base64');

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig();
});

describe.each(['secret', 'config'] as const)('%s', (kind) => {
  const port = () => (kind === 'secret' ? rig.control.secrets : rig.control.configs);

  test('create: is shown, a secret without its data, and is sealed in the store', async () => {
    const { ID } = await port().create({ Name: 'a', Data: DATA, Templating: { Name: 'golang' } });
    expect(await port().inspect('a')).toEqual({
      ID,
      Version: { Index: rig.context.cluster.revision },
      CreatedAt: expect.any(String),
      UpdatedAt: expect.any(String),
      Spec: {
        Name: 'a',
        Labels: {},
        Templating: { Name: 'golang' },
        ...(kind === 'config' && { Data: DATA }),
      },
    });
    const key = sealedKey[kind](ID);
    expect(rig.context.cluster.value(key)?.value.toString('latin1')).not.toContain('geheim');
  });

  test.each<[what: string, request: object, code: string, message: string]>([
    [
      'no name',
      { Name: '', Data: DATA },
      'invalid_argument',
      `${INVALID}invalid name, only 64 [a-zA-Z0-9-_.] characters allowed, and the start and end character must be ` +
        '[a-zA-Z0-9]',
    ],
    [
      'a name with a dot at its end',
      { Name: 'a.', Data: DATA },
      'invalid_argument',
      `${INVALID}invalid name, only 64 [a-zA-Z0-9-_.] characters allowed, and the start and end character must be ` +
        '[a-zA-Z0-9]',
    ],
    [
      'nothing',
      { Name: 'a' },
      'invalid_argument',
      `${INVALID}KIND data must be larger than 0 and less than MAX bytes`,
    ],
    [
      'too much',
      { Name: 'a', Data: Buffer.alloc(1_024_000).toString('base64') },
      'invalid_argument',
      `${INVALID}KIND data must be larger than 0 and less than MAX bytes`,
    ],
    ['what is no base64', { Name: 'a', Data: 'a$' }, 'invalid_argument', 'Data is not valid base64'],
    [
      'other templates',
      { Name: 'a', Data: DATA, Templating: { Name: 'x' } },
      'invalid_argument',
      `${INVALID}Templating: unsupported driver "x"`,
    ],
  ])('create: refuses %s', async (_what, request, code, message) => {
    const max = kind === 'secret' ? '512000' : '1024000';
    await expect(port().create(request)).rejects.toMatchObject({
      code,
      message: message.replace('KIND', kind).replace('MAX', max),
    });
  });

  test('create: the largest one fits into the store', async () => {
    const bytes = kind === 'secret' ? 511_999 : 1_023_999;
    await port().create({ Name: 'a', Data: Buffer.alloc(bytes).toString('base64') });
  });

  test('create: a name is taken once', async () => {
    await port().create({ Name: 'a', Data: DATA });
    await expect(port().create({ Name: 'a', Data: DATA })).rejects.toMatchObject({
      code: 'conflict',
      message: `rpc error: code = AlreadyExists desc = ${kind} a already exists`,
    });
  });

  test('update: only the labels', async () => {
    await port().create({ Name: 'a', Data: DATA });
    const version = async (): Promise<number> => (await port().inspect('a')).Version.Index ?? 0;
    await port().update('a', await version(), { Name: 'a', Data: DATA, Labels: { x: 'y' } });
    expect((await port().inspect('a')).Spec.Labels).toEqual({ x: 'y' });
    for (const change of [{ Name: 'b' }, { Data: 'eA==' }, { Templating: { Name: 'golang' } }]) {
      await expect(port().update('a', await version(), { Name: 'a', Data: DATA, ...change })).rejects.toThrow(
        `${INVALID}only updates to Labels are allowed`,
      );
    }
    await expect(port().update('a', 1, { Name: 'a', Data: DATA })).rejects.toThrow('update out of sequence');
  });

  test('remove: refused while services use it, by their names, and free afterwards', async () => {
    const { services } = rig.control;
    const { ID } = await port().create({ Name: 'a', Data: DATA });
    const File = { Name: 'f', UID: '0', GID: '0', Mode: 292 };
    const uses =
      kind === 'secret'
        ? { Secrets: [{ SecretID: ID, SecretName: 'a', File }] }
        : { Configs: [{ ConfigID: ID, ConfigName: 'a', File }] };
    const spec = { TaskTemplate: { ContainerSpec: { Image: 'busybox', ...uses } } };
    const options = { pinImage: false, signal: NOBODY };
    await services.create({ ...spec, Name: 'web' }, options);
    await expect(port().remove('a')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: `${INVALID}${kind} 'a' is in use by the following service: web`,
    });
    await services.create({ ...spec, Name: 'db' }, options);
    await expect(port().remove('a')).rejects.toThrow(
      `${INVALID}${kind} 'a' is in use by the following services: db, web`,
    );
    // As `stack rm` does: at once, though tasks still run.
    await services.remove('web');
    await services.remove('db');
    await port().remove('a');
    await expect(port().inspect('a')).rejects.toMatchObject({
      code: 'not_found',
      message: `${kind} a not found`,
    });
    await port().create({ Name: 'a', Data: DATA });
  });

  test('remove: of a removal and a first use at the same time one is refused', async () => {
    const { ID } = await port().create({ Name: 'a', Data: DATA });
    const File = { Name: 'f', UID: '0', GID: '0', Mode: 292 };
    const uses =
      kind === 'secret'
        ? { Secrets: [{ SecretID: ID, SecretName: 'a', File }] }
        : { Configs: [{ ConfigID: ID, ConfigName: 'a', File }] };
    const results = await Promise.allSettled([
      port().remove('a'),
      rig.control.services.create(
        { Name: 'web', TaskTemplate: { ContainerSpec: { Image: 'busybox', ...uses } } },
        { pinImage: false, signal: NOBODY },
      ),
    ]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test.each<[filters: Record<string, string[]>, names: string[]]>([
    [{}, ['app_a', 'app_b', 'web']],
    [{ name: ['app_'] }, ['app_a', 'app_b']],
    [{ name: ['app_a', 'web'] }, ['app_a', 'web']],
    [{ label: ['tier'] }, ['app_a', 'app_b']],
    [{ label: ['tier=1'] }, ['app_a']],
    [{ label: ['tier='] }, ['app_a', 'app_b']],
    [{ label: ['tier', 'more'] }, ['app_b']],
    [{ name: ['app_'], label: ['tier=2'] }, ['app_b']],
    [{ id: ['zzz'] }, []],
    [{ id: ['zzz'], name: ['web'] }, ['web']],
  ])('list: %j', async (filters, names) => {
    await port().create({ Name: 'app_a', Data: DATA, Labels: { tier: '1' } });
    await port().create({ Name: 'app_b', Data: DATA, Labels: { tier: '2', more: '' } });
    await port().create({ Name: 'web', Data: DATA });
    const listed = await port().list(new Map(Object.entries(filters)));
    expect(listed.map(({ Spec }) => Spec.Name)).toEqual(names);
  });

  test('list: a filter that there is not', async () => {
    await expect(port().list(new Map([['x', ['y']]]))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: "invalid filter 'x'",
    });
  });
});

test('secrets: names are exact in their own filter; a driver is refused', async () => {
  const { secrets } = rig.control;
  await secrets.create({ Name: 'a', Data: DATA });
  await secrets.create({ Name: 'ab', Data: DATA });
  expect((await secrets.list(new Map([['names', ['a']]]))).map(({ Spec }) => Spec.Name)).toEqual(['a']);
  await expect(secrets.create({ Name: 'c', Driver: { Name: 'vault' } })).rejects.toMatchObject({
    code: 'not_implemented',
  });
});
