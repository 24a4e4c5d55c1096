import { tar } from '../../../../support/images/tar.ts';
import { busyboxImageTar } from '../../../../support/images/images.ts';
import type { FieldRow } from '../table.ts';

export const identityRows: readonly FieldRow[] = [
  {
    field: 'Hostname',
    ask: { Hostname: 'box' },
    observe: (look) => look.shell('hostname; cat /etc/hostname'),
    expected: 'box\nbox',
  },
  {
    field: 'Domainname',
    ask: { Hostname: 'box', Domainname: 'example.org', HostConfig: { NetworkMode: 'bridge' } },
    observe: (look) => look.shell('cat /proc/sys/kernel/domainname; tail -n 1 /etc/hosts | cut -f2'),
    expected: 'example.org\nbox.example.org box',
  },
  {
    field: 'User',
    ask: { User: '1000:1001' },
    observe: async (look) => [
      await look.shell('id -u; id -g'),
      await look.status('Uid'),
      await look.status('Gid'),
    ],
    expected: ['1000\n1001', '1000\t1000\t1000\t1000', '1001\t1001\t1001\t1001'],
  },
  {
    field: 'Env',
    ask: { Env: ['A=1', 'EMPTY='] },
    observe: async (look) =>
      (await look.proc('environ')).split('\0').filter((entry) => /^(A|EMPTY)=/.test(entry)),
    expected: ['A=1', 'EMPTY='],
  },
  {
    field: 'Labels',
    ask: { Labels: { 'org.example': 'yes', __proto: 'x' } },
    observe: async (look) => {
      const filters = encodeURIComponent(JSON.stringify({ label: ['org.example=yes'] }));
      const found = await look.engine.list(`?filters=${filters}`);
      return found.map(({ Id, Labels }) => [Id === look.id, Labels]);
    },
    expected: [[true, { 'org.example': 'yes', __proto: 'x' }]],
  },
  {
    field: 'WorkingDir',
    what: 'is made when the image does not have it',
    ask: { WorkingDir: '/made/for/it' },
    observe: (look) => look.inside('pwd'),
    expected: '/made/for/it',
  },
  {
    field: 'Cmd',
    ask: { Cmd: ['echo', 'a command'] },
    observe: async (look) => (await look.written()).stdout,
    expected: 'a command\n',
  },
  {
    field: 'Entrypoint',
    ask: { Entrypoint: ['echo', 'entry'], Cmd: ['and command'] },
    observe: async (look) => (await look.written()).stdout,
    expected: 'entry and command\n',
  },
  {
    field: 'Image',
    ask: async ({ engine }) => {
      const layer = tar([{ name: 'proof', content: 'of this image' }]);
      const image = busyboxImageTar({ tags: ['proof:1'], extraLayers: [layer] });
      await engine.http.ok('POST', '/images/load?quiet=1', image);
      return { Image: 'proof:1' };
    },
    observe: (look) => look.inside('cat', '/proof'),
    expected: 'of this image',
  },
  {
    field: ['AttachStdin', 'AttachStdout', 'AttachStderr'],
    what: 'are kept for clients, which attach themselves',
    ask: { AttachStdin: true, AttachStdout: true, AttachStderr: false },
    observe: async (look) => {
      const { AttachStdin, AttachStdout, AttachStderr } = (await look.inspect()).Config;
      return [AttachStdin, AttachStdout, AttachStderr];
    },
    expected: [true, true, false],
  },
  {
    field: 'ArgsEscaped',
    what: 'is of Windows images, and kept',
    ask: { ArgsEscaped: true },
    observe: async (look) => (await look.inspect()).Config.ArgsEscaped,
    expected: true,
  },
  {
    field: 'OnBuild',
    what: 'is for images made of the container, and kept',
    ask: { OnBuild: ['RUN true'] },
    observe: async (look) => (await look.inspect()).Config.OnBuild,
    expected: ['RUN true'],
  },
  {
    field: 'Shell',
    what: 'is for images made of the container, and kept',
    ask: { Shell: ['/bin/ash', '-c'] },
    observe: async (look) => (await look.inspect()).Config.Shell,
    expected: ['/bin/ash', '-c'],
  },
];
