import { expect, test } from 'vitest';
import { expandContainerSpec, validateTemplates } from '../../../../swarm/templates/container-spec.ts';
import { expandPayload } from '../../../../swarm/templates/payload.ts';

const SUBJECT = {
  service: { id: 'sid', name: 'web', labels: { zone: 'a' } },
  node: { id: 'nid', hostname: 'host1' },
  task: { id: 'tid', slot: 2 },
};

test('templates are expanded in Env, Hostname, mounts, volume labels and driver options, and nowhere else', () => {
  const expanded = expandContainerSpec(
    {
      Image: '{{.Service.Name}}',
      Args: ['{{.Task.Slot}}'],
      Labels: { a: '{{.Task.Slot}}' },
      Hostname: '{{.Service.Name}}-{{.Task.Slot}}',
      Env: ['SLOT={{.Task.Slot}}', '{{.Task.Slot}}', 'NAME{{.Task.Slot}}=x={{.Node.ID}}'],
      Mounts: [
        {
          Type: 'volume',
          Source: 'v-{{.Task.Slot}}',
          Target: '/{{.Service.Name}}',
          VolumeOptions: {
            Labels: { of: '{{.Service.ID}}' },
            DriverConfig: { Name: '{{.Task.ID}}', Options: { device: '/srv/{{.Task.Slot}}' } },
          },
        },
      ],
    },
    SUBJECT,
  );
  expect(expanded).toEqual({
    Image: '{{.Service.Name}}',
    Args: ['{{.Task.Slot}}'],
    Labels: { a: '{{.Task.Slot}}' },
    Hostname: 'web-2',
    Env: ['SLOT=2', '{{.Task.Slot}}', 'NAME{{.Task.Slot}}=x=nid'],
    Mounts: [
      {
        Type: 'volume',
        Source: 'v-2',
        Target: '/web',
        VolumeOptions: {
          Labels: { of: 'sid' },
          DriverConfig: { Name: '{{.Task.ID}}', Options: { device: '/srv/2' } },
        },
      },
    ],
  });
});

test('a specification is checked with values that stand for the task', () => {
  validateTemplates(
    { Env: ['A={{.Service.Labels.zone}}{{.Task.Name}}'] },
    { name: 'x', labels: { zone: 'a' } },
  );
  expect(() => validateTemplates({ Env: ['A={{.Nope}}'] })).toThrow(
    'expanding env failed: expanding env "A={{.Nope}}": template: expansion:1:2: executing "expansion" at <.Nope>: ' +
      "can't evaluate field Nope in type *template.Context",
  );
  expect(() => validateTemplates({ Hostname: '{{' })).toThrow(
    'expanding hostname failed: template: expansion:1: ',
  );
  expect(() => validateTemplates({ Mounts: [{ Source: '{{secret "a"}}' }] })).toThrow(
    'expanding mounts failed: expanding mount source "{{secret \\"a\\"}}": ',
  );
});

test('a templated secret reads variables, secrets and configs of its own task alone', () => {
  const sources = {
    spec: {
      Env: ['HOST=db', 'EMPTY'],
      Secrets: [
        { SecretID: 's1', SecretName: 'pw', File: { Name: 'pw.txt', UID: '0', GID: '0', Mode: 0o444 } },
      ],
      Configs: [
        { ConfigID: 'c1', ConfigName: 'cf', File: { Name: '/etc/cf', UID: '0', GID: '0', Mode: 0o444 } },
      ],
    },
    secrets: new Map([
      ['s1', Buffer.from('geheim')],
      ['s2', Buffer.from('of another')],
    ]),
    configs: new Map([['c1', Buffer.from('k=v')]]),
  };
  const text = (template: string): string =>
    expandPayload(Buffer.from(template), SUBJECT, sources).toString();
  expect(text('{{env "HOST"}}:{{secret "pw.txt"}}:{{config "/etc/cf"}}:{{env "NONE"}}:{{.Task.Slot}}')).toBe(
    'db:geheim:k=v::2',
  );
  expect(() => text('{{secret "s2"}}')).toThrow('secret target s2 not found');
  expect(() => text('{{config "pw.txt"}}')).toThrow('config target pw.txt not found');
});
