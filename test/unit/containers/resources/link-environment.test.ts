import { expect, test } from 'vitest';
import { linkEnvironment } from '../../../../daemon/containers/resources/link-environment.ts';

const LINK = { name: '/web/my-db', address: '172.17.0.2', ports: [], environment: [] };

test('a link without ports is its name and the environment of the other container', () => {
  const environment = ['PASSWORD=a=b', 'EMPTY=', 'UNSET', 'HOME=/root', 'PATH=/bin'];
  expect(linkEnvironment({ ...LINK, environment })).toEqual([
    'MY_DB_NAME=/web/my-db',
    'MY_DB_ENV_PASSWORD=a=b',
    'MY_DB_ENV_EMPTY=',
  ]);
});

test('ports are told one by one, tcp before udp, and the lowest of all stands for the service', () => {
  expect(linkEnvironment({ ...LINK, ports: ['443/tcp', '53/udp', '80/tcp'] })).toEqual([
    'MY_DB_PORT=udp://172.17.0.2:53',
    'MY_DB_PORT_80_TCP=tcp://172.17.0.2:80',
    'MY_DB_PORT_80_TCP_ADDR=172.17.0.2',
    'MY_DB_PORT_80_TCP_PORT=80',
    'MY_DB_PORT_80_TCP_PROTO=tcp',
    'MY_DB_PORT_443_TCP=tcp://172.17.0.2:443',
    'MY_DB_PORT_443_TCP_ADDR=172.17.0.2',
    'MY_DB_PORT_443_TCP_PORT=443',
    'MY_DB_PORT_443_TCP_PROTO=tcp',
    'MY_DB_PORT_53_UDP=udp://172.17.0.2:53',
    'MY_DB_PORT_53_UDP_ADDR=172.17.0.2',
    'MY_DB_PORT_53_UDP_PORT=53',
    'MY_DB_PORT_53_UDP_PROTO=udp',
    'MY_DB_NAME=/web/my-db',
  ]);
});

test('neighbouring ports are told as a range too', () => {
  const variables = linkEnvironment({ ...LINK, ports: ['81/tcp', '80/tcp', '82/tcp', '82/udp'] });
  expect(variables.filter((entry) => /START|END/.test(entry))).toEqual([
    'MY_DB_PORT_80_TCP_START=tcp://172.17.0.2:80',
    'MY_DB_PORT_80_TCP_PORT_START=80',
    'MY_DB_PORT_80_TCP_END=tcp://172.17.0.2:82',
    'MY_DB_PORT_80_TCP_PORT_END=82',
  ]);
});
