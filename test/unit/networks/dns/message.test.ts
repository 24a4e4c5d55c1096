import { describe, expect, it } from 'vitest';
import {
  addressOfPointer,
  encodeAnswer,
  formatError,
  isAnswerTo,
  parseQuery,
  withId,
} from '../../../../daemon/networks/dns/message.ts';

const HEADER = '1234 0100 0001 0000 0000 0000';

function bytes(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

const web = bytes(`${HEADER} 03 576562 03 636f6d 00 0001 0001`);

describe('parseQuery()', () => {
  it('reads name, type and question', () => {
    expect(parseQuery(web)).toEqual({
      id: 0x1234,
      flags: 0x0100,
      name: 'web.com',
      type: 1,
      question: web.subarray(12),
    });
    expect(parseQuery(bytes(`${HEADER} 00 0002 0001`))?.name).toBe('');
  });

  it.each([
    ['nothing', ''],
    ['a header alone', HEADER],
    ['an answer', '1234 8100 0001 0000 0000 0000 00 0001 0001'],
    ['another operation', '1234 2800 0001 0000 0000 0000 00 0001 0001'],
    ['two questions', '1234 0100 0002 0000 0000 0000 00 0001 0001 00 0001 0001'],
    ['a name that points at itself', `${HEADER} c00c 0001 0001`],
    ['a name that never ends', `${HEADER} 03 576562`],
    ['a label beyond the message', `${HEADER} 3f 576562`],
    ['a name of more than 255 bytes', `${HEADER} ${`3f ${'61'.repeat(63)}`.repeat(5)} 00 0001 0001`],
    ['a question without type', `${HEADER} 00 00`],
    ['another class', `${HEADER} 00 0001 0003`],
  ])('refuses %s', (_what, text) => {
    expect(parseQuery(bytes(text))).toBeUndefined();
  });
});

describe('encodeAnswer()', () => {
  const query = parseQuery(web) ?? expect.fail('no query');

  it('repeats the question and points at its name in each record', () => {
    const answer = encodeAnswer(query, 0, {
      records: [
        { kind: 'address', address: 0x0a000001 },
        { kind: 'address', address: 1n },
        { kind: 'pointer', name: 'a.b' },
      ],
      ttlS: 60,
      bytesMax: 512,
    });
    expect(answer.toString('hex')).toBe(
      [
        '1234 8180 0001 0003 0000 0000 03 576562 03 636f6d 00 0001 0001',
        'c00c 0001 0001 0000003c 0004 0a000001',
        'c00c 001c 0001 0000003c 0010 00000000000000000000000000000001',
        'c00c 000c 0001 0000003c 0005 01 61 01 62 00',
      ]
        .join('')
        .replaceAll(' ', ''),
    );
  });

  it('has what fits, and is marked as truncated', () => {
    const records = Array.from({ length: 40 }, () => ({ kind: 'address' as const, address: 1 }));
    const answer = encodeAnswer(query, 0, { records, ttlS: 60, bytesMax: 512 });
    expect([answer.length, answer.readUInt16BE(2) & 0x0200, answer.readUInt16BE(6)]).toEqual([
      web.length + 30 * 16,
      0x0200,
      30,
    ]);
  });
});

describe('isAnswerTo()', () => {
  const { question } = parseQuery(web) ?? expect.fail('no query');
  const answer = bytes('0007 8180 0001 0000 0000 0000 03 776562 03 434f4d 00 0001 0001');

  it('takes the same question in any case, and nothing else', () => {
    expect(isAnswerTo(answer, 7, question)).toBe(true);
    expect(isAnswerTo(answer, 8, question)).toBe(false);
    expect(isAnswerTo(web, 0x1234, question)).toBe(false);
    expect(isAnswerTo(answer.subarray(0, -1), 7, question)).toBe(false);
    const other = Buffer.from(answer);
    other.writeUInt8(0x78, 13);
    expect(isAnswerTo(other, 7, question)).toBe(false);
    expect(isAnswerTo(withId(answer, 9), 9, question)).toBe(true);
  });
});

describe('formatError()', () => {
  it('has the id of what could not be read, and never answers an answer', () => {
    expect(formatError(bytes('abcd 0100 ffff 0000 0000 0000'))?.toString('hex')).toBe(
      'abcd80010000000000000000',
    );
    expect(formatError(bytes('abcd 8100 ffff 0000 0000 0000'))).toBeUndefined();
    expect(formatError(bytes('abcd'))).toBeUndefined();
  });
});

describe('addressOfPointer()', () => {
  it.each([
    ['4.3.2.1.in-addr.arpa', '1.2.3.4'],
    [`${'1.'.padEnd(64, '0.')}ip6.arpa`, '0000:0000:0000:0000:0000:0000:0000:0001'],
    ['web.in-addr.arpa', undefined],
    ['1.2.3.4', undefined],
  ])('reads %s as %s', (name, address) => {
    expect(addressOfPointer(name)).toBe(address);
  });
});
