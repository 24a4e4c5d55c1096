import { expect, test } from 'vitest';
import { parseBool, parseInteger, parseSize } from '../../../../daemon/base/go/values.ts';

test.each([
  ['0', 0, 0],
  ['512', 512, 512],
  ['512b', 512, 512],
  ['10m', 10_485_760, 10_000_000],
  ['10M', 10_485_760, 10_000_000],
  ['10mb', 10_485_760, 10_000_000],
  ['10MiB', 10_485_760, 10_000_000],
  ['1g', 1_073_741_824, 1_000_000_000],
  ['1.5 GB', 1_610_612_736, 1_500_000_000],
  ['.5k', 512, 500],
  ['1.k', 1024, 1000],
  ['+1k', 1024, 1000],
  ['1e3', 1000, 1000],
  ['1.9', 1, 1],
  ['2t', 2_199_023_255_552, 2_000_000_000_000],
  ['1p', 1_125_899_906_842_624, 1_000_000_000_000_000],
])('%s is %d bytes of memory, %d of files', (text, memory, files) => {
  expect([parseSize(text, 1024), parseSize(text, 1000)]).toEqual([memory, files]);
});

test.each([
  '',
  'much',
  '-1',
  '5i',
  '5ki',
  '5ib',
  '5bb',
  '5e',
  '1..5k',
  '5  m',
  ' 5m',
  '1m1',
  '9999p',
  'Infinity',
])('%j is no size', (text) => {
  expect(() => parseSize(text, 1024)).toThrow(`invalid size: '${text}'`);
});

test.each([
  [['1', 't', 'T', 'TRUE', 'true', 'True'], true],
  [['0', 'f', 'F', 'FALSE', 'false', 'False'], false],
])('%j are %s', (texts, value) => {
  expect(texts.map(parseBool)).toEqual(texts.map(() => value));
});

test.each(['', 'tRUE', 'yes', 'on', ' 1', '2'])('%j is neither true nor false', (text) => {
  expect(() => parseBool(text)).toThrow(`strconv.ParseBool: parsing "${text}": invalid syntax`);
});

test.each([
  ['5', 5],
  ['-5', -5],
  ['+5', 5],
  ['007', 7],
])('%s is the number %d', (text, value) => {
  expect(parseInteger(text)).toBe(value);
});

test.each(['', '5.0', '1e3', '0x10', '9007199254740993', ' 5'])('%j is no whole number', (text) => {
  expect(() => parseInteger(text)).toThrow(`strconv.Atoi: parsing "${text}": invalid syntax`);
});
