import { invalidArgument } from '../../base/errors.ts';
import type { Container } from '../state/container.ts';
import { liveRun } from '../state/state-facts.ts';

interface PortRange {
  first: number;
  last: number;
  protocol: string;
}

/**
 * `publish` and `expose` of the list: `80`, `80/udp`, `8000-8080/tcp`. As in dockerd the one looks at ports of the
 * host, which only running containers have, the other at those the container declares.
 */
export function portMatcher(
  key: 'publish' | 'expose',
  values: readonly string[],
): (container: Container) => boolean {
  const ranges = values.map((value) => parseRange(key, value));
  return (container) => portsOf(key, container).some((port) => ranges.some((range) => isIn(port, range)));
}

function portsOf(key: 'publish' | 'expose', { spec, state }: Container): string[] {
  if (key === 'expose') {
    return Object.keys(spec.config.ExposedPorts ?? {});
  }
  return Object.entries(liveRun(state)?.sandbox.ports ?? {}).flatMap(([port, bindings]) =>
    (bindings ?? []).map(({ HostPort }) => `${HostPort}/${port.split('/')[1] ?? 'tcp'}`),
  );
}

function parseRange(key: string, value: string): PortRange {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/.exec(value);
  if (!match) {
    throw invalidArgument(`invalid filter '${key}=${value}'`);
  }
  const [, first, last, protocol = 'tcp'] = match;
  return { first: Number(first), last: Number(last ?? first), protocol };
}

function isIn(port: string, { first, last, protocol }: PortRange): boolean {
  const [number, portProtocol = 'tcp'] = port.split('/');
  return portProtocol === protocol && Number(number) >= first && Number(number) <= last;
}
