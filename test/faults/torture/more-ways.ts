import type { VictimSwarm } from './victim-swarm.ts';
import type { Runner } from './ways.ts';
import { ECHO, ECHO_PORT } from './wishes.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { PROGRAM } from '../../support/swarm/hosts/pages.ts';

/** Each node answers datagrams at the published port, each task is reached by the others' IPv6. */
export async function wrongDatagrams({ swarm }: VictimSwarm, runners: readonly Runner[]): Promise<string[]> {
  const echoes = runners.filter(({ service }) => service === ECHO);
  const expected = new Set(echoes.map(({ hostname }) => hostname));
  const asked = swarm.nodes.map(async ({ addr, hostname, daemon }) => {
    const answers = [];
    for (const [node, target] of [
      [swarm.node(1).daemon, addr],
      [daemon, '127.0.0.1'],
    ] as const) {
      // No answer is told as one: the program may not come to its end beside load.
      const said = await node.netns
        .run('/usr/bin/python3', PROGRAM, 'shout', target, String(ECHO_PORT), '1')
        .catch((error: unknown) => errorText(error));
      answers.push(expected.has(said.split(' ')[0] ?? '') ? (said.split(' ')[0] ?? '') : said.trim());
    }
    const strange = answers.filter((answer) => !expected.has(answer));
    return strange.map((answer) => `at UDP port ${ECHO_PORT} of ${hostname} answered "${answer}"`);
  });
  const reached = echoes.map(async ({ node, container, hostname, addresses6 }) => {
    const others = echoes.flatMap((echo) => (echo.container === container ? [] : echo.addresses6));
    const pings = others.map((other) => `ping -6 -c 1 -W 5 ${other} >/dev/null || echo ${other}`);
    const silent = await swarm.must(node, 'exec', container, 'sh', '-c', ['true', ...pings].join('; '));
    return [
      ...(silent === '' ? [] : [`${hostname} does not reach ${silent.split('\n').join(' ')}`]),
      ...(addresses6.length === 1 ? [] : [`${hostname} has the addresses "${addresses6.join(' ')}" of IPv6`]),
    ];
  });
  return (await Promise.all([...asked, ...reached])).flat();
}

/** All tasks of `web` have the secret that was given last. */
export async function wrongSecrets(
  { swarm, wishes }: VictimSwarm,
  runners: readonly Runner[],
): Promise<string[]> {
  const found = runners
    .filter(({ service }) => service === 'web')
    .map(async ({ node, container, hostname }) => {
      const { out } = await swarm.docker(node, 'exec', container, 'cat', '/run/secrets/key');
      return out === wishes.secret ? [] : [`${hostname} has the secret "${out}", not ${wishes.secret}`];
    });
  return (await Promise.all(found)).flat();
}
