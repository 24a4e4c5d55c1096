/** Where containers find their name server; dockerd's address. */
export const NAME_SERVER = '127.0.0.11';
export const NAME_SERVER_NUMBER = 0x7f00000b;

const TABLE = 'berth_names';

/**
 * Text of nft(8) that leads 127.0.0.11:53 of a namespace to the ports where the engine listens there, and its answers
 * back: the container may have a name server of its own on port 53. Headers are rewritten on their way out, without
 * connection tracking, which would cost every packet of the container. Pure.
 */
export function nameRules(ports: { udp: number; tcp: number }): string {
  const lines = (['udp', 'tcp'] as const).flatMap((protocol) => [
    `ip daddr ${NAME_SERVER} ${protocol} dport 53 ${protocol} dport set ${ports[protocol]}`,
    `ip saddr ${NAME_SERVER} ${protocol} sport ${ports[protocol]} ${protocol} sport set 53`,
  ]);
  return [
    `table ip ${TABLE} {`,
    '  chain names { type filter hook output priority mangle; policy accept; }',
    '}',
    `flush chain ip ${TABLE} names`,
    ...lines.map((line) => `add rule ip ${TABLE} names ${line}`),
  ].join('\n');
}
