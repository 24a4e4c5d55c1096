/** What the variables of a link are made of. */
export interface LinkFacts {
  /** `/parent/alias`. */
  name: string;
  /** Of the linked container in the default bridge. */
  address: string;
  /** `80/tcp`, as the linked container exposes them. */
  ports: readonly string[];
  /** The configured environment of the linked container. */
  environment: readonly string[];
}

interface Port {
  number: number;
  protocol: string;
}

/** Of the image rather than of the service. */
const LEFT_OUT = new Set(['HOME', 'PATH']);

/**
 * The variables by which a container finds one that it is linked to (`DB_PORT_5432_TCP_ADDR`, `DB_ENV_PASSWORD`), in
 * dockerd's order. Pure.
 */
export function linkEnvironment(link: LinkFacts): string[] {
  const { name, address } = link;
  const alias = (name.split('/').at(-1) ?? '').toUpperCase().replaceAll('-', '_');
  const ports = link.ports.map((text): Port => {
    const [number = '', protocol = 'tcp'] = text.split('/');
    return { number: Number(number), protocol };
  });
  const url = ({ number, protocol }: Port): string => `${protocol}://${address}:${number}`;
  const prefix = ({ number, protocol }: Port): string => `${alias}_PORT_${number}_${protocol.toUpperCase()}`;
  const lowest = ports.toSorted((one, other) => one.number - other.number || tcpFirst(one, other))[0];
  const sorted = ports.toSorted((one, other) => tcpFirst(one, other) || one.number - other.number);
  return [
    ...(lowest ? [`${alias}_PORT=${url(lowest)}`] : []),
    ...ranges(sorted).flatMap(([first, last]) => [
      `${prefix(first)}_START=${url(first)}`,
      `${prefix(first)}_ADDR=${address}`,
      `${prefix(first)}_PROTO=${first.protocol}`,
      `${prefix(first)}_PORT_START=${first.number}`,
      `${prefix(first)}_END=${url(last)}`,
      `${prefix(first)}_PORT_END=${last.number}`,
    ]),
    ...sorted.flatMap((port) => [
      `${prefix(port)}=${url(port)}`,
      `${prefix(port)}_ADDR=${address}`,
      `${prefix(port)}_PORT=${port.number}`,
      `${prefix(port)}_PROTO=${port.protocol}`,
    ]),
    `${alias}_NAME=${name}`,
    ...link.environment
      .filter((entry) => entry.includes('=') && !LEFT_OUT.has(entry.split('=', 1)[0] ?? ''))
      .map((entry) => `${alias}_ENV_${entry}`),
  ];
}

function tcpFirst(one: Port, other: Port): number {
  return Number(other.protocol === 'tcp') - Number(one.protocol === 'tcp');
}

/** First and last of each run of neighbouring ports of one protocol; single ports are no run. */
function ranges(sorted: readonly Port[]): [Port, Port][] {
  const runs: [Port, Port][] = [];
  for (const port of sorted) {
    const run = runs.at(-1);
    if (run !== undefined && run[1].protocol === port.protocol && run[1].number + 1 === port.number) {
      run[1] = port;
    } else {
      runs.push([port, port]);
    }
  }
  return runs.filter(([first, last]) => first !== last);
}
