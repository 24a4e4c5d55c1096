import { isIP } from 'node:net';
import { invalidArgument } from '../../../base/errors.ts';
import { RULES } from '../lint/rules.ts';
import { addHistory, expandedWords, setConfig, type StepContext } from './context.ts';

const PORT_MAX = 65_535;

/** EXPOSE: `80`, `8000-8010/udp`; an address or a port of the host before it says nothing about an image. */
export function exposeStep(context: StepContext, command: { ports: readonly string[] }): void {
  const ports = command.ports
    .flatMap((word) => expandedWords(context, word))
    .flatMap((word) => portsOf(context, word));
  setConfig(context, {
    ExposedPorts: {
      ...context.state.image.config.ExposedPorts,
      ...Object.fromEntries(ports.map((port) => [port, {}])),
    },
  });
  addHistory(context, `EXPOSE [${ports.join(' ')}]`);
}

function portsOf({ linter, step }: StepContext, word: string): string[] {
  const parts = word.split(':');
  const [port = '', ...protocols] = (parts.pop() ?? '').split('/');
  const host = parts.pop() ?? '';
  const address = parts.join(':');
  const protocol = protocols.join('/') || 'tcp';
  const said = JSON.stringify(word);
  if (port === '') {
    throw invalidArgument(`invalid port: ${said}: no port specified`);
  }
  if (!['tcp', 'udp', 'sctp'].includes(protocol.toLowerCase())) {
    throw invalidArgument(`invalid port: ${said}: invalid proto: ${protocol}`);
  }
  if (protocol !== protocol.toLowerCase()) {
    const detail = `Defined protocol '${word}' in EXPOSE instruction should be lowercase`;
    linter.warn(RULES.exposeProtoCasing, step.lines, detail);
  }
  if (address !== '' || host !== '') {
    const detail = `EXPOSE instruction should not define an IP address or host-port mapping, found '${word}'`;
    linter.warn(RULES.exposeInvalidFormat, step.lines, detail);
  }
  if (address !== '' && isIP(address.replace(/^\[(.*)\]$/, '$1')) === 0) {
    throw invalidArgument(`invalid IP address: ${address}`);
  }
  const [first, last] = rangeOf('containerPort', port);
  refuseHostRange({ host, port, count: last - first });
  return Array.from({ length: last - first + 1 }, (_, at) => `${first + at}/${protocol.toLowerCase()}`);
}

function refuseHostRange({ host, port, count }: { host: string; port: string; count: number }): void {
  if (host !== '') {
    const [first, last] = rangeOf('hostPort', host);
    if (last - first !== count && count !== 0) {
      throw invalidArgument(`invalid ranges specified for container and host Ports: ${port} and ${host}`);
    }
  }
}

function rangeOf(what: string, text: string): [number, number] {
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  if (first === '' || Number(last) < Number(first) || Number(last) > PORT_MAX) {
    throw invalidArgument(`invalid ${what}: ${text}`);
  }
  return [Number(first), Number(last)];
}
