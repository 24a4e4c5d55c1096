import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { validateTemplates } from '../../../../swarm/templates/container-spec.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig({
    checkTemplates: ({ ContainerSpec: container }) => container && validateTemplates(container),
  });
});

afterEach(() => rig[Symbol.asyncDispose]());

const OPTIONS = { pinImage: false, signal: NOBODY };
const spec = (more: ContainerSpec): ServiceSpec => ({
  Name: 'web',
  TaskTemplate: { ContainerSpec: { Image: 'busybox', ...more } },
});
const volume = (more: object): ContainerSpec => ({
  Mounts: [{ Type: 'volume', Source: 'a', Target: '/a', ...more }],
});
const NOPE = 'executing "expansion" at <.Nope>: can\'t evaluate field Nope in type *template.Context';

/** What dockerd 20.10 says of each, after `rpc error: code = InvalidArgument desc = expanding `. */
const REFUSED: readonly [container: ContainerSpec, said: string][] = [
  [{ Hostname: '{{.Nope}}' }, `hostname failed: template: expansion:1:2: ${NOPE}`],
  [{ Hostname: '{{' }, 'hostname failed: template: expansion:1: unclosed action'],
  [
    { Hostname: '{{.Node.Nope}}' },
    'hostname failed: template: expansion:1:7: executing "expansion" at <.Node.Nope>: ' +
      "can't evaluate field Nope in type struct { ID string; Hostname string; Platform template.Platform }",
  ],
  [{ Hostname: '{{foo "x"}}' }, 'hostname failed: template: expansion:1: function "foo" not defined'],
  [
    { Hostname: '{{.Service.Labels.x}}' },
    'hostname failed: template: expansion:1:10: executing "expansion" at <.Service.Labels.x>: ' +
      'map has no entry for key "x"',
  ],
  [{ Env: ['A={{.Nope}}'] }, `env failed: expanding env "A={{.Nope}}": template: expansion:1:2: ${NOPE}`],
  [
    { Env: ['A={{.Service.Name'] },
    'env failed: expanding env "A={{.Service.Name": template: expansion:1: unclosed action',
  ],
  [
    { Env: ['A={{ secret "a" }}'] },
    'env failed: expanding env "A={{ secret \\"a\\" }}": template: expansion:1: function "secret" not defined',
  ],
  [
    { Env: ['A={{env "X"}}'] },
    'env failed: expanding env "A={{env \\"X\\"}}": template: expansion:1: function "env" not defined',
  ],
  [
    { Env: ['A={{range .Service.Labels}}'] },
    'env failed: expanding env "A={{range .Service.Labels}}": template: expansion:1: unexpected EOF',
  ],
  [
    volume({ Source: '{{.Nope}}' }),
    `mounts failed: expanding mount source "{{.Nope}}": template: expansion:1:2: ${NOPE}`,
  ],
  [
    volume({ Target: '/{{.Nope}}' }),
    `mounts failed: expanding mount target "/{{.Nope}}": template: expansion:1:3: ${NOPE}`,
  ],
  [
    volume({ VolumeOptions: { Labels: { x: '{{.Nope}}' } } }),
    'mounts failed: expanding volume labels: expanding map entry "x"="{{.Nope}}": ' +
      `template: expansion:1:2: ${NOPE}`,
  ],
  [
    volume({ VolumeOptions: { DriverConfig: { Name: 'local', Options: { x: '{{end}}' } } } }),
    'mounts failed: expanding volume driver config: expanding map entry "x"="{{end}}": ' +
      'template: expansion:1: unexpected {{end}}',
  ],
];

test.each(REFUSED)('create: %j is refused as by dockerd, and nothing is made', async (container, said) => {
  await expect(rig.control.services.create(spec(container), OPTIONS)).rejects.toThrow(
    expect.objectContaining({
      code: 'invalid_argument',
      message: `rpc error: code = InvalidArgument desc = expanding ${said}`,
    }),
  );
  expect(await rig.control.services.list(new Map(), { status: false })).toEqual([]);
});

test.each(REFUSED)('update: %j is refused too', async (container, said) => {
  const { ID } = await rig.control.services.create(spec({}), OPTIONS);
  const { Version } = await rig.control.services.inspect(ID, { insertDefaults: false });
  const change = rig.control.services.update(ID, spec(container), {
    ...OPTIONS,
    version: Version?.Index ?? 0,
    registryAuthFrom: 'spec',
    rollback: '',
  });
  await expect(change).rejects.toThrow(said);
});

test.each<ContainerSpec>([
  { Hostname: '{{index .Service.Labels "x"}}' },
  { Env: ['{{.Nope}}=x'] },
  { Hostname: '{{.Service.Name}}-{{.Task.Slot}}', Env: ['N={{.Node.Hostname}}'] },
])('create: %j is taken, as by dockerd', async (container) => {
  await expect(rig.control.services.create(spec(container), OPTIONS)).resolves.toMatchObject({});
});
