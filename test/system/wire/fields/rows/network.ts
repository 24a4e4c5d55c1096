import { until } from '../../../../support/engine/http.ts';
import type { FieldRow, Look } from '../table.ts';

const BRIDGE = { NetworkMode: 'bridge' };
const SERVER = ['sh', '-c', 'mkdir /www; echo served >/www/index.html; httpd -f -p 80 -h /www'];

async function fetched(look: Look, address: string): Promise<string> {
  let page = '';
  await until(`a page from ${address}`, async () => {
    page = await look.engine.daemon.fetch(`http://${address}/`);
    return page !== '';
  });
  return page.trim();
}

export const networkRows: readonly FieldRow[] = [
  {
    field: 'NetworkDisabled',
    ask: { NetworkDisabled: true, HostConfig: BRIDGE },
    observe: (look) => look.inside('ls', '/sys/class/net'),
    expected: 'lo',
  },
  {
    field: 'NetworkingConfig.EndpointsConfig.MacAddress',
    ask: {
      HostConfig: BRIDGE,
      NetworkingConfig: { EndpointsConfig: { bridge: { MacAddress: '02:42:ac:11:ca:fe' } } },
    },
    observe: (look) => look.inside('cat', '/sys/class/net/eth0/address'),
    expected: '02:42:ac:11:ca:fe',
  },
  {
    field: ['HostConfig.PortBindings.HostIp', 'HostConfig.PortBindings.HostPort'],
    ask: {
      Cmd: SERVER,
      HostConfig: { ...BRIDGE, PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '8077' }] } },
    },
    observe: (look) => fetched(look, '127.0.0.1:8077'),
    expected: 'served',
  },
  {
    field: ['ExposedPorts', 'HostConfig.PublishAllPorts'],
    ask: { Cmd: SERVER, ExposedPorts: { '80/tcp': {} }, HostConfig: { ...BRIDGE, PublishAllPorts: true } },
    observe: async (look) => {
      const bindings = (await look.inspect()).NetworkSettings.Ports['80/tcp'];
      return fetched(look, `127.0.0.1:${bindings?.[0]?.HostPort}`);
    },
    expected: 'served',
  },
  {
    field: ['HostConfig.Dns', 'HostConfig.DnsOptions', 'HostConfig.DnsSearch'],
    ask: {
      HostConfig: { ...BRIDGE, Dns: ['192.0.2.53'], DnsOptions: ['ndots:3'], DnsSearch: ['example.org'] },
    },
    observe: async (look) =>
      (await look.inside('cat', '/etc/resolv.conf'))
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .toSorted(),
    expected: ['nameserver 192.0.2.53', 'options ndots:3', 'search example.org'],
  },
  {
    field: 'HostConfig.ExtraHosts',
    what: 'addresses, and the host by host-gateway',
    ask: { HostConfig: { ...BRIDGE, ExtraHosts: ['db:192.0.2.1', 'six:2001:db8::1', 'me:host-gateway'] } },
    observe: async (look) => {
      const Gateway = (await look.inspect()).NetworkSettings.Networks['bridge']?.Gateway ?? '';
      const hosts = await look.shell('grep -E "\t(db|six|me)$" /etc/hosts');
      return hosts.replace(Gateway, 'GATEWAY');
    },
    expected: '192.0.2.1\tdb\n2001:db8::1\tsix\nGATEWAY\tme',
  },
];
