import { busyboxImageTar } from '../../../../support/images/images.ts';
import { tar } from '../../../../support/images/tar.ts';
import type { FieldRow } from '../table.ts';

const ASKS_FOR_TTY = 'for fd in 0 1 2; do test -t $fd && echo tty || echo none; done';

export const processRows: readonly FieldRow[] = [
  {
    field: 'Tty',
    ask: { Tty: true, Cmd: ['sh', '-c', ASKS_FOR_TTY] },
    observe: async (look) => {
      await look.engine.wait(look.id);
      const { text } = await look.engine.http.request('GET', `/containers/${look.id}/logs?stdout=1`);
      return text;
    },
    expected: 'tty\r\ntty\r\ntty\r\n',
  },
  {
    field: 'HostConfig.ConsoleSize',
    ask: { Tty: true, Cmd: ['stty', 'size'], HostConfig: { ConsoleSize: [33, 111] } },
    observe: async (look) => {
      await look.engine.wait(look.id);
      const { text } = await look.engine.http.request('GET', `/containers/${look.id}/logs?stdout=1`);
      return text;
    },
    expected: '33 111\r\n',
  },
  {
    field: ['OpenStdin', 'StdinOnce'],
    what: 'the first client to leave ends the input',
    ask: { OpenStdin: true, StdinOnce: true, Cmd: ['cat'] },
    observe: async (look) => {
      const client = await look.engine.http.hijack(`/containers/${look.id}/attach?stream=1&stdin=1&stdout=1`);
      client.socket.end('typed');
      return (await look.written()).stdout;
    },
    expected: 'typed',
  },
  {
    field: 'OpenStdin',
    what: 'without StdinOnce the input stays open for the next client',
    ask: { OpenStdin: true, Cmd: ['sh', '-c', 'head -n 1; head -n 1'] },
    observe: async (look) => {
      for (const line of ['one\n', 'two\n']) {
        const client = await look.engine.http.hijack(
          `/containers/${look.id}/attach?stream=1&stdin=1&stdout=1`,
        );
        client.socket.write(line);
        await client.waitFor(line);
        client.socket.destroy();
      }
      return (await look.written()).stdout;
    },
    expected: 'one\ntwo\n',
  },
  {
    field: 'HostConfig.Init',
    ask: { HostConfig: { Init: true } },
    observe: async (look) => [await look.proc('cmdline'), await look.shell('ls /sbin/docker-init')],
    expected: ['/sbin/docker-init\0--\0sleep\u{0}1000\0', '/sbin/docker-init'],
  },
  {
    field: 'HostConfig.GroupAdd',
    what: 'by number and by name',
    ask: async ({ engine }) => {
      const layer = tar([{ name: 'etc/group', content: 'video:x:44:\n' }]);
      const image = busyboxImageTar({ tags: ['groups:1'], extraLayers: [layer] });
      await engine.http.ok('POST', '/images/load?quiet=1', image);
      return { Image: 'groups:1', HostConfig: { GroupAdd: ['4242', 'video'] } };
    },
    observe: (look) => look.status('Groups'),
    expected: '0 44 4242 ',
  },
  {
    field: 'HostConfig.OomScoreAdj',
    ask: { HostConfig: { OomScoreAdj: 700 } },
    observe: (look) => look.proc('oom_score_adj'),
    expected: '700',
  },
  {
    field: ['HostConfig.Ulimits.Name', 'HostConfig.Ulimits.Soft', 'HostConfig.Ulimits.Hard'],
    ask: {
      HostConfig: {
        Ulimits: [
          { Name: 'nofile', Soft: 512, Hard: 1024 },
          { Name: 'core', Soft: 0, Hard: 0 },
        ],
      },
    },
    observe: async (look) =>
      (await look.proc('limits'))
        .split('\n')
        .filter((line) => /open files|core file/.test(line))
        .map((line) => line.replaceAll(/ {2,}/g, '|')),
    expected: ['Max core file size|0|0|bytes|', 'Max open files|512|1024|files|'],
  },
];
