import { expect, test } from 'vitest';
import {
  bytes,
  field,
  flag,
  id,
  long,
  mapped,
  message,
  nested,
  number,
  numbers,
  optional,
  repeated,
  text,
  view,
} from '../../../daemon/base/wire/protobuf.ts';
import { processorTime } from '../../support/processor-time.ts';

const inner = message({ name: field(1, text), size: field(2, number) });
const all = message({
  name: field(1, text),
  data: field(2, bytes),
  yes: field(3, flag),
  count: field(4, number),
  id: field(5, id),
  names: repeated(6, text),
  one: optional(7, nested(inner)),
  many: repeated(64, nested(inner)),
  at: field(65, long),
  labels: mapped(66, text),
  parts: mapped(67, nested(inner)),
});

test('codec: what is written is read', () => {
  const value = {
    name: 'etcd',
    data: Buffer.from([0, 255]),
    yes: true,
    count: Number.MAX_SAFE_INTEGER,
    id: String(2n ** 64n - 1n),
    names: ['', 'b'],
    one: { name: '', size: 0 },
    many: [
      { name: 'x'.repeat(300), size: -1 },
      { name: 'y', size: 2 ** 31 },
    ],
    at: -(2n ** 63n),
    labels: new Map([
      ['', 'x'],
      ['__proto__', ''],
    ]),
    parts: new Map([['a', { name: 'b', size: 1 }]]),
  };
  expect(all.decode(all.encode(value))).toEqual(value);
});

test('codec: what is absent is empty, and nothing is written of it', () => {
  expect(all.encode({ name: '', count: 0, id: '0', names: [], yes: false })).toEqual(Buffer.alloc(0));
  expect(all.decode(Buffer.alloc(0))).toEqual({
    name: '',
    data: Buffer.alloc(0),
    yes: false,
    count: 0,
    id: '0',
    names: [],
    one: undefined,
    many: [],
    at: 0n,
    labels: new Map(),
    parts: new Map(),
  });
});

// Worked out by hand from the description of the encoding.
test('codec: bytes are those of protocol buffers', () => {
  expect(inner.encode({ name: 'ab', size: 300 }).toString('hex')).toBe('0a02616210ac02');
  expect(inner.encode({ size: -1 }).toString('hex')).toBe('10ffffffffffffffffff01');
  expect(all.encode({ many: [{ size: 1 }] }).toString('hex')).toBe('8204021001');
});

test.each([127, 128, 2 ** 14 - 1, 2 ** 14, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32, 2 ** 53 - 1])(
  'codec: %d, where encodings differ in length, is what it was',
  (count) => {
    const encoded = inner.encode({ size: count });
    expect(encoded).toHaveLength(1 + Math.ceil(count.toString(2).length / 7));
    expect(inner.decode(encoded).size).toBe(count);
  },
);

test('codec: fields that are not known are skipped, what is cut short is refused', () => {
  expect(inner.decode(Buffer.from('f201036162631005', 'hex'))).toEqual({ name: '', size: 5 });
  // A fixed number of 8 and one of 4 bytes.
  expect(inner.decode(Buffer.from('3101020304050607081d010203041005', 'hex'))).toEqual({
    name: '',
    size: 5,
  });
  for (const cut of ['0a05', '10', '0d000000', '0900', '0affffffff0f', '0b']) {
    expect(() => inner.decode(Buffer.from(cut, 'hex'))).toThrow(RangeError);
  }
});

test('codec: a number of more bytes than any has is refused at once', () => {
  const endless = Buffer.concat([Buffer.from([0x10]), Buffer.alloc(1024 * 1024, 0xff)]);
  expect(() => inner.decode(endless)).toThrow('a number of more than ten bytes');
});

test('codec: a view is the very memory of its message', () => {
  const viewed = message({ data: field(1, view) });
  const encoded = Buffer.from('0a0201ff', 'hex');
  const { data } = viewed.decode(encoded);
  encoded[2] = 7;
  expect(data).toEqual(Buffer.from([7, 255]));
});

test('codec: numbers come all in one field, as proto3 sends them, or one by one', () => {
  const counted = message({ codes: numbers(12) });
  expect(counted.decode(Buffer.from('620403ff0100', 'hex')).codes).toEqual([3, 255, 0]);
  expect(counted.decode(Buffer.from('6003600560ff01', 'hex')).codes).toEqual([3, 5, 255]);
  expect(counted.encode({ codes: [3, 255, 0] }).toString('hex')).toBe('620403ff0100');
  expect(counted.encode({ codes: [] })).toHaveLength(0);
  expect(() => counted.decode(Buffer.from('620203ff', 'hex'))).toThrow(RangeError);
});

test('codec: numbers sent one by one cost no more than their bytes', () => {
  const counted = message({ codes: numbers(12) });
  const tookMs = processorTime();
  expect(counted.decode(Buffer.alloc(100_000, '6003', 'hex')).codes).toHaveLength(50_000);
  // Copied for each of them they took 20 s.
  expect(tookMs()).toBeLessThan(3_000);
});
