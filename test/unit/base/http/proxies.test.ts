import { expect, it, test } from 'vitest';
import {
  nameOf,
  proxiesOf,
  proxyFor,
  proxyHeaders,
  proxyVariables,
  withoutCredentials,
} from '../../../../daemon/base/http/proxies.ts';

const proxies = { http: 'plain.test:3128', https: 'https://secure.test', none: 'direct.test' };

it.each<[string, string | undefined]>([
  ['http://registry.test/', 'http://plain.test:3128'],
  ['https://registry.test/', 'https://secure.test'],
  ['https://direct.test/', undefined],
  ['http://127.0.0.1:5000/', undefined],
  ['ftp://registry.test/', undefined],
])('%s goes through %s', (address, name) => {
  const proxy = proxyFor(new URL(address), proxies);
  expect(proxy && nameOf(proxy)).toBe(name);
});

test('without the variable of its scheme an address is asked directly', () => {
  expect(proxyFor(new URL('http://registry.test/'), { ...proxies, http: '' })).toBeUndefined();
});

it.each(['socks5://someone:secret@proxy.test', 'http://', 'http://someone:secret@proxy.test:port'])(
  '%s is no proxy: what was to go through one does not go around it',
  (https) => {
    const ask = (): unknown => proxyFor(new URL('https://registry.test/'), { ...proxies, https });
    expect(ask).toThrow(/^proxy .*: must look like http/);
    expect(ask).not.toThrow(/secret/);
  },
);

test('the environment says it in capitals, or else in small letters', () => {
  const environment = { HTTP_PROXY: '', http_proxy: 'small', HTTPS_PROXY: 'large', https_proxy: 'small' };
  expect(proxiesOf(environment)).toEqual({ http: 'small', https: 'large', none: '' });
});

test('a program that is started finds them in both', () => {
  expect(proxyVariables({ http: 'a', https: '', none: 'b' })).toEqual({
    HTTP_PROXY: 'a',
    http_proxy: 'a',
    NO_PROXY: 'b',
    no_proxy: 'b',
  });
});

it.each<[string, string | undefined]>([
  ['http://someone:secret@proxy.test', 'someone:secret'],
  ['http://some%40one:%2fse%3Acret@proxy.test', 'some@one:/se:cret'],
  ['http://someone@proxy.test', 'someone:'],
  ['http://someone:100%@proxy.test', 'someone:100%'],
  ['http://proxy.test', undefined],
])('%s sends %s', (address, account) => {
  const headers = account && { 'Proxy-Authorization': `Basic ${Buffer.from(account).toString('base64')}` };
  expect(proxyHeaders(new URL(address))).toEqual(headers ?? {});
});

it.each([
  ['http://someone:secret@proxy.test:3128/', 'http://xxxxx:xxxxx@proxy.test:3128/'],
  ['someone:secret@proxy.test', 'xxxxx:xxxxx@proxy.test'],
  ['http://someone:se/cr@et@proxy.test', 'http://xxxxx:xxxxx@proxy.test'],
  ['http://someone@proxy.test', 'http://xxxxx:xxxxx@proxy.test'],
  ['http://proxy.test', 'http://proxy.test'],
  ['', ''],
])('%s is shown as %s', (address, shown) => {
  expect(withoutCredentials(address)).toBe(shown);
});
