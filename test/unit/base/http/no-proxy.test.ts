import { expect, it } from 'vitest';
import { isExempt } from '../../../../daemon/base/http/no-proxy.ts';

/** Rows of NO_PROXY, an address, and whether it is asked directly. */
it.each<[string, string, boolean]>([
  // A domain means itself and what is below it.
  ['example.com', 'http://example.com/', true],
  ['example.com', 'https://registry.example.com/v2/', true],
  ['example.com', 'http://anexample.com/', false],
  ['example.com', 'http://example.com.test/', false],
  ['EXAMPLE.com', 'http://Example.COM/', true],
  ['com', 'http://example.com/', true],
  // With a dot before it, or a star, only what is below it.
  ['.example.com', 'http://registry.example.com/', true],
  ['.example.com', 'http://a.b.example.com/', true],
  ['.example.com', 'http://example.com/', false],
  ['*.example.com', 'http://registry.example.com/', true],
  ['*.example.com', 'http://example.com/', false],
  ['registry.*', 'http://registry.test/', false],
  // A port is that port, also where the address does not write it.
  ['example.com:5000', 'http://example.com:5000/', true],
  ['example.com:5000', 'http://example.com/', false],
  ['example.com:80', 'http://example.com/', true],
  ['example.com:443', 'https://example.com/', true],
  ['example.com:443', 'http://example.com/', false],
  ['.example.com:5000', 'http://a.example.com:5000/', true],
  ['example.com:', 'http://example.com:5000/', true],
  // Addresses and blocks of them, never what names resolve to.
  ['198.51.100.7', 'http://198.51.100.7:5000/', true],
  ['198.51.100.7', 'http://198.51.100.70/', false],
  ['198.51.100.7:5000', 'http://198.51.100.7:5000/', true],
  ['198.51.100.7:5000', 'http://198.51.100.7/', false],
  ['198.51.100.0/24', 'https://198.51.100.7/', true],
  ['198.51.100.0/24', 'https://198.51.101.7/', false],
  ['198.51.100.0/24', 'https://registry.test/', false],
  ['0.0.0.0/0', 'http://198.51.100.7/', true],
  ['0.0.0.0/0', 'http://example.com/', false],
  ['2001:db8::1', 'http://[2001:db8::1]/', true],
  ['2001:db8::1', 'http://[2001:db8:0:0::1]:5000/', true],
  ['[2001:db8::1]:5000', 'http://[2001:db8::1]:5000/', true],
  ['[2001:db8::1]:5000', 'http://[2001:db8::1]/', false],
  ['2001:db8::/32', 'http://[2001:db8:9::1]/', true],
  ['2001:db8::/32', 'http://[2001:db9::1]/', false],
  ['198.51.100.0/24', 'http://[::ffff:198.51.100.7]/', true],
  ['100.7', 'http://198.51.100.7/', false],
  ['.7', 'http://198.51.100.7/', false],
  // A star is everything.
  ['*', 'https://registry-1.docker.io/', true],
  ['a.test,*', 'http://198.51.100.7/', true],
  // A list, as people write it.
  [' a.test , example.com,', 'http://example.com/', true],
  ['a.test example.com', 'http://example.com/', false],
  ['', 'http://example.com/', false],
  // What makes no sense means nothing.
  [',,:5000,/24,198.51.100.0/33,198.51.100.0/x,[', 'http://198.51.100.7:5000/', false],
  // Letters beyond ASCII are the same in both spellings.
  ['bücher.test', 'http://xn--bcher-kva.test/', true],
  ['xn--bcher-kva.test', 'http://www.bücher.test/', true],
  // The machine itself, always.
  ['', 'http://localhost:5000/', true],
  ['', 'http://127.0.0.1/', true],
  ['', 'https://127.9.9.9:443/', true],
  ['', 'http://[::1]:5000/', true],
  ['', 'http://[::ffff:127.0.0.1]/', true],
  ['', 'http://localhost.test/', false],
])('NO_PROXY=%s: %s directly: %s', (list, address, isDirect) => {
  expect(isExempt(new URL(address), list)).toBe(isDirect);
});
