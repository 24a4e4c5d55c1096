import { expect, test } from 'vitest';
import { QUALIFIED_NAME, parseCdiSpec } from '../../../../runtime/cdi/cdi-spec.ts';

const YAML = `
cdiVersion: "0.6.0"
kind: vendor.com/gpu
annotations: {a: b}
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - {path: /dev/gpu0, hostPath: /dev/null, permissions: rw}
  - name: all
    containerEdits: {env: [GPUS=all]}
containerEdits:
  hooks:
    - {hookName: createContainer, path: /bin/true, args: [a], env: [A=b], timeout: 5}
  mounts:
    - {hostPath: /lib/gpu, containerPath: /usr/lib/gpu, options: [ro, bind]}
  additionalGids: [44]
`;

test('a description in YAML, and the same in JSON', () => {
  const spec = parseCdiSpec(YAML);
  expect(spec).toMatchObject({ kind: 'vendor.com/gpu', devices: [{ name: '0' }, { name: 'all' }] });
  expect(parseCdiSpec(JSON.stringify(spec))).toEqual(spec);
});

test.each([
  ['cdiVersion: "0.6"\nkind: a/b', "/ must have required property 'devices'"],
  ['cdiVersion: "0.6"\nkind: b\ndevices: []', '/kind must match pattern'],
  [YAML.replace('env: [GPUS=all]', 'env: [GPUS]'), '/devices/1/containerEdits/env/0 must match pattern'],
  [YAML.replace('{env: [GPUS=all]}', '{intelRdt: {}}'), 'must NOT have additional properties: intelRdt'],
  [YAML.replace('/dev/gpu0', 'dev/gpu0'), '/devices/0/containerEdits/deviceNodes/0/path must match pattern'],
  [YAML.replace('createContainer', 'later'), '/containerEdits/hooks/0/hookName must be equal to one of'],
  ['[', 'Flow sequence'],
])('a description that is wrong: %#', (content, problem) => {
  expect(() => parseCdiSpec(content)).toThrow(problem);
});

test.each(['vendor.com/class=name', 'v/c=0', 'nvidia.com/gpu=0:1'])('%s is a name', (name) => {
  expect(name).toMatch(QUALIFIED_NAME);
});
test.each(['/dev/null', 'a=b', 'vendor/class=', 'vendor/class=-x', '1a/c=x'])('%s is none', (name) => {
  expect(name).not.toMatch(QUALIFIED_NAME);
});
