import { expect, test } from 'vitest';
import {
  bytes,
  field,
  flag,
  id,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
} from '../../../../swarm/store/etcd/codec.ts';

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
  });
});

// Worked out by hand from the description of the encoding.
test('codec: bytes are those of protocol buffers', () => {
  expect(inner.encode({ name: 'ab', size: 300 }).toString('hex')).toBe('0a02616210ac02');
  expect(inner.encode({ size: -1 }).toString('hex')).toBe('10ffffffffffffffffff01');
  expect(all.encode({ many: [{ size: 1 }] }).toString('hex')).toBe('8204021001');
});

test('codec: fields that are not known are skipped, what is cut short is refused', () => {
  expect(inner.decode(Buffer.from('f201036162631005', 'hex'))).toEqual({ name: '', size: 5 });
  for (const cut of ['0a05', '10', '0d00000000']) {
    expect(() => inner.decode(Buffer.from(cut, 'hex'))).toThrow(RangeError);
  }
});
