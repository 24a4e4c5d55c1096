import { expect, test } from 'vitest';
import { toHttpFailure } from '../../../api/errors.ts';
import { EngineError, InvariantError } from '../../../daemon/base/errors.ts';
import type { ErrorCode } from '../../../daemon/base/errors.ts';

const CODES: readonly ErrorCode[] = [
  'not_found',
  'conflict',
  'not_modified',
  'invalid_argument',
  'unauthorized',
  'forbidden',
  'unavailable',
  'not_implemented',
  'canceled',
  'deadline_exceeded',
  'resource_exhausted',
  'failed_precondition',
  'internal',
];

test('toHttpFailure: every code has its status and log level', () => {
  const table = CODES.map((code) => {
    const { status, level } = toHttpFailure(new EngineError(code, 'text'));
    return `${code} ${status} ${level}`;
  });
  expect(table).toMatchInlineSnapshot(`
    [
      "not_found 404 info",
      "conflict 409 info",
      "not_modified 304 debug",
      "invalid_argument 400 info",
      "unauthorized 401 info",
      "forbidden 403 info",
      "unavailable 503 error",
      "not_implemented 501 info",
      "canceled 503 debug",
      "deadline_exceeded 504 error",
      "resource_exhausted 503 error",
      "failed_precondition 500 info",
      "internal 500 error",
    ]
  `);
});

test('toHttpFailure: a broken invariant is fatal, anything unknown an error, both 500 with their text', () => {
  expect([
    toHttpFailure(new InvariantError('promise broken')),
    toHttpFailure(new TypeError('x is not a function')),
    toHttpFailure('thrown text'),
  ]).toEqual([
    { status: 500, message: 'promise broken', level: 'fatal' },
    { status: 500, message: 'x is not a function', level: 'error' },
    { status: 500, message: 'thrown text', level: 'error' },
  ]);
});
