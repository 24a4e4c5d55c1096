import { expect, test } from 'vitest';
import {
  JSON_FILE_DEFAULTS,
  jsonFilePolicy,
  rotateAtBytes,
  stopAtBytes,
} from '../../../../storage/logs/policy.ts';

const MB = 1_000_000;

test.each([
  ['nothing asked for', JSON_FILE_DEFAULTS, 20 * MB, 100 * MB],
  ['one file, kept as two halves', { 'max-size': '20m' }, 10 * MB, 30 * MB],
  ['two files', { 'max-size': '20m', 'max-file': '2' }, 20 * MB, 60 * MB],
  ['ten files', { 'max-size': '20m', 'max-file': '10' }, 20 * MB, 200 * MB],
  ['tiny files', { 'max-size': '1k', 'max-file': '2' }, 1000, 2 * 1024 * 1024],
  ['files without number', { 'max-size': '1g', 'max-file': '99999999' }, 1000 * MB, Number.MAX_SAFE_INTEGER],
  ['no limit', { 'max-size': '-1' }, Number.POSITIVE_INFINITY, null],
])('a log with %s: is rotated, and stopped, at so many bytes', (_what, options, rotate, stop) => {
  const policy = jsonFilePolicy(options);
  expect([rotateAtBytes(policy), stopAtBytes(policy)]).toEqual([rotate, stop]);
});
