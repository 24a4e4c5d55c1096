import { describe, expect, test } from 'vitest';
import { matchPattern } from '../../../../storage/references/match.ts';
import {
  canonicalRepository,
  familiarName,
  parseReference,
} from '../../../../storage/references/reference.ts';

const DIGEST = `sha256:${'a1'.repeat(32)}`;

describe('reference', () => {
  test.each([
    ['busybox', 'docker.io/library/busybox', 'busybox'],
    ['busybox:1.36', 'docker.io/library/busybox', 'busybox:1.36'],
    ['library/busybox', 'docker.io/library/busybox', 'busybox'],
    ['docker.io/busybox', 'docker.io/library/busybox', 'busybox'],
    ['index.docker.io/library/busybox:x', 'docker.io/library/busybox', 'busybox:x'],
    ['example/app', 'docker.io/example/app', 'example/app'],
    ['localhost/app', 'localhost/app', 'localhost/app'],
    ['localhost:5000/app:v1', 'localhost:5000/app', 'localhost:5000/app:v1'],
    ['Registry.Example.com/a/b/c', 'Registry.Example.com/a/b/c', 'Registry.Example.com/a/b/c'],
    ['UPPER/app', 'UPPER/app', 'UPPER/app'],
    ['[::1]:5000/app', '[::1]:5000/app', '[::1]:5000/app'],
    ['a__b-.c'.replace('-.', '---'), 'docker.io/library/a__b---c', 'a__b---c'],
    [`busybox@${DIGEST}`, 'docker.io/library/busybox', `busybox@${DIGEST}`],
    [`busybox:1@${DIGEST}`, 'docker.io/library/busybox', `busybox:1@${DIGEST}`],
    ['sha256:abc', 'docker.io/library/sha256', 'sha256:abc'],
    ['x:_a.B-9', 'docker.io/library/x', 'x:_a.B-9'],
  ])('%s is %s, shown as %s', (text, repository, familiar) => {
    const reference = parseReference(text);
    expect([canonicalRepository(reference), familiarName(reference)]).toEqual([repository, familiar]);
  });

  test.each([
    ['', 'invalid reference format'],
    ['Busybox', 'invalid reference format: repository name (library/Busybox) must be lowercase'],
    ['busybox:', 'invalid reference format'],
    ['busybox:.x', 'invalid reference format'],
    [`busybox:${'a'.repeat(129)}`, 'invalid reference format'],
    ['bus ybox', 'invalid reference format'],
    ['busybox@', 'invalid reference format'],
    ['busybox@sha256:abc', 'invalid reference format'],
    ['busybox@sha256:ABC', 'invalid reference format'],
    [
      `busybox@md5:${'a'.repeat(32)}`,
      `invalid reference format: digest md5:${'a'.repeat(32)} is not a sha256 digest`,
    ],
    ['-busybox', 'invalid reference format'],
    ['busybox-', 'invalid reference format'],
    ['a..b', 'invalid reference format'],
    ['a___b', 'invalid reference format'],
    ['/busybox', 'invalid reference format'],
    ['busybox/', 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['../a', 'invalid reference format'],
    ['http://a/b', 'invalid reference format'],
    ['a.b:port/c', 'invalid reference format'],
    ['a..b.c/d', 'invalid reference format'],
    ['busybox\n', 'invalid reference format'],
    ['a'.repeat(256), 'repository name must not be more than 255 characters'],
    ['a'.repeat(100_000), 'invalid reference format'],
    [`${'a-'.repeat(400)}!`, 'invalid reference format'],
    [
      'ab'.repeat(32),
      `invalid repository name (${'ab'.repeat(32)}), cannot specify 64-byte hexadecimal strings`,
    ],
  ])('refuses %j', (text, message) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ message }));
  });

  test.each([
    ['busy*', 'busybox:latest', true],
    ['busy*', 'example/busybox', false],
    ['*/busybox', 'example/busybox', true],
    ['*:l?test', 'busybox:latest', true],
    ['b[^a-t]sybox', 'busybox', true],
    ['b[a-t]sybox', 'busybox', false],
    ['\\*', '*', true],
    ['[/]', '/', false],
    ['*a*a*a*a*a*a*a*a*b', 'a'.repeat(5000), false],
    ['', 'busybox', false],
  ])('pattern %s on %s', (pattern, name, expected) => {
    expect(matchPattern(pattern, name)).toBe(expected);
  });

  test.each(['[a', '[', 'a\\', '[a-'])('pattern %s is malformed', (pattern) => {
    expect(() => matchPattern(pattern, 'a')).toThrow(/syntax error in pattern/);
  });
});
