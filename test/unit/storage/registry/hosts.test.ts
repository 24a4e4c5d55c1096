import { expect, it } from 'vitest';
import { parseChallenges } from '../../../../storage/registry/challenge.ts';
import { endpointsOf } from '../../../../storage/registry/hosts.ts';

const tlsOnly = (domain: string): object[] => [{ base: `https://${domain}`, verified: true }];
const lenient = (domain: string): object[] => [
  { base: `https://${domain}`, verified: false },
  { base: `http://${domain}`, verified: false },
];

it.each([
  ['docker.io', [], [], [{ base: 'https://registry-1.docker.io', verified: true }]],
  ['registry.example.com', ['192.0.2.1'], [], tlsOnly('registry.example.com')],
  ['localhost:5000', ['127.0.0.1', '::1'], [], lenient('localhost:5000')],
  ['[::1]:5000', ['::1'], [], lenient('[::1]:5000')],
  ['r.lan:5000', [], ['r.lan:5000'], lenient('r.lan:5000')],
  ['r.lan:5001', [], ['r.lan:5000'], tlsOnly('r.lan:5001')],
  ['r.lan', ['10.1.2.3'], ['10.0.0.0/8'], lenient('r.lan')],
  ['r.lan', ['11.1.2.3'], ['10.0.0.0/8'], tlsOnly('r.lan')],
])('endpoints of %s at %j, insecure %j', (domain, addresses, insecure, expected) => {
  expect(endpointsOf(domain, addresses, { insecure, mirrors: [] })).toEqual(expected);
});

it.each([
  [undefined, []],
  ['Basic realm="r"', [{ scheme: 'basic', parameters: { realm: 'r' } }]],
  [
    'Negotiate, Bearer realm="https://t/x",service=s , scope="a,b"',
    [{ scheme: 'bearer', parameters: { realm: 'https://t/x', service: 's', scope: 'a,b' } }],
  ],
  ['Bearer realm="unfinished', [{ scheme: 'bearer', parameters: {} }]],
  ['"', []],
])('challenges of %j', (header, expected) => {
  expect(parseChallenges(header)).toEqual(expected);
});

it('challenges: a header that is too long is none', () => {
  expect(parseChallenges('Bearer '.repeat(10_000))).toEqual([]);
});
