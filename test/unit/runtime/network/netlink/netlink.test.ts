import { describe, expect, it } from 'vitest';
import {
  attribute,
  decodeAttributes,
  encodeAttributes,
} from '../../../../../runtime/network/netlink/attributes.ts';
import {
  decodeAnswer,
  decodeMessages,
  encodeMessage,
} from '../../../../../runtime/network/netlink/netlink.ts';
import {
  newChildLink,
  newVethPair,
  readLink,
  setLinkUp,
} from '../../../../../runtime/network/netlink/links.ts';
import { newAddress, readRoute } from '../../../../../runtime/network/netlink/routes.ts';

const hex = (bytes: Buffer): string => (bytes.toString('hex').match(/.{1,8}/g) ?? []).join(' ');

describe('encodeAttributes()', () => {
  it('pads every value to four bytes and counts the length without the padding', () => {
    const bytes = encodeAttributes([attribute.text(3, 'lo'), attribute.u32(4, 1500), attribute.u8(5, 1)]);
    expect(hex(bytes)).toBe('07000300 6c6f0000 08000400 dc050000 05000500 01000000');
  });

  it('marks nested attributes and puts a header before the inner ones', () => {
    const nested = attribute.nested(1, [attribute.u32be(2, 0x0a000001)], Buffer.from([9, 9, 9, 9]));
    expect(hex(encodeAttributes([nested]))).toBe('10000180 09090909 08000200 0a000001');
  });
});

describe('decodeAttributes()', () => {
  it('reads back what was encoded, without the flag bits of the type', () => {
    const bytes = encodeAttributes([attribute.text(3, 'eth0'), attribute.nested(18, [attribute.u8(1, 7)])]);
    expect([...decodeAttributes(bytes)].map(([type, value]) => [type, hex(value)])).toEqual([
      [3, '65746830 00'],
      [18, '05000100 07000000'],
    ]);
  });

  it.each([
    ['a length below its header', '0300010000000000'],
    ['a length past the end', 'ff00010000000000'],
    ['half a header', '0400'],
  ])('stops at %s', (_what, text) => {
    expect(decodeAttributes(Buffer.from(text, 'hex')).size).toBe(0);
  });
});

describe('messages', () => {
  it('have their length, type, flags and sequence in host order', () => {
    const message = encodeMessage(setLinkUp(2), 7);
    expect(hex(message)).toBe(
      // nlmsghdr: 32 bytes, RTM_NEWLINK, NLM_F_REQUEST, sequence 7, port 0; ifinfomsg: index 2, flags and mask UP.
      '20000000 10000100 07000000 00000000 00000000 02000000 01000000 01000000',
    );
    expect(
      decodeMessages(Buffer.concat([message, message])).map(({ type, sequence }) => [type, sequence]),
    ).toEqual([
      [16, 7],
      [16, 7],
    ]);
  });

  it('that are cut short are left out', () => {
    const message = encodeMessage(setLinkUp(2), 7);
    expect(decodeMessages(message.subarray(0, 20))).toEqual([]);
  });

  it('describe a veth pair in one request', () => {
    const request = newVethPair({
      name: 'bth0',
      master: 5,
      mtu: 1500,
      peer: { name: 'eth0', mac: Buffer.from('0242ac110002', 'hex'), namespaceFd: 9 },
    });
    expect(hex(encodeMessage(request, 1))).toBe(
      [
        // nlmsghdr: RTM_NEWLINK, create, exclusive
        '8c000000 10000106 01000000 00000000',
        // ifinfomsg: up
        '00000000 00000000 01000000 01000000',
        // name, mtu, master
        '09000300 62746830 00000000 08000400 dc050000 08000a00 05000000',
        // link info: kind veth, data: peer
        '50001280 09000100 76657468 00000000 40000280',
        // its ifinfomsg: the kernel chooses its index
        '3c000180 00000000 00000000 00000000',
        // name, mtu, address, namespace descriptor
        '00000000 09000300 65746830 00000000 08000400 dc050000 0a000100 0242ac11 00020000 08001c00 09000000',
      ].join(' '),
    );
  });

  it('give an address its broadcast address', () => {
    const { header, attributes } = newAddress(2, { address: 0xac110002, prefixLength: 16 });
    expect([hex(header), ...attributes.map(({ type, value }) => `${type} ${hex(value)}`)]).toEqual([
      '02100000 02000000',
      '2 ac110002',
      '1 ac110002',
      '4 ac11ffff',
    ]);
  });
});

describe('newChildLink()', () => {
  const place = {
    parent: 3,
    mtu: 0,
    peer: { name: 'i0', mac: Buffer.from('024200000007', 'hex'), namespaceFd: 9 },
  };
  const start = '07000300 69300000 08000500 03000000';

  it('names the namespace, the mode and the flag of an ipvlan, as ip(8) writes them, and no MAC', () => {
    const request = newChildLink({ kind: 'ipvlan', mode: 'l3', flag: 'vepa' }, place);
    expect(hex(encodeAttributes(request.attributes))).toBe(
      `${start} 08001c00 09000000 24001280 0b000100 6970766c 616e0000 ` +
        '14000280 06000100 01000000 06000200 02000000',
    );
  });

  it('names the MAC and the mode of a macvlan', () => {
    const request = newChildLink({ kind: 'macvlan', mode: 'bridge' }, place);
    expect(hex(encodeAttributes(request.attributes))).toBe(
      `${start} 0a000100 02420000 00070000 08001c00 09000000 1c001280 0c000100 6d616376 6c616e00 ` +
        '0c000280 08000100 04000000',
    );
  });
});

function answer(flags: number, payload: string) {
  return decodeAnswer({ type: 2, flags, sequence: 1, payload: Buffer.from(payload, 'hex') });
}

describe('decodeAnswer()', () => {
  const request = '20000000100005000700000000000000';

  it.each([
    ['an acknowledgement', 0x100, `00000000${request}`, { errno: 0, text: '' }],
    ['an errno', 0x100, `edffffff${request}`, { errno: 19, text: '' }],
    [
      "an errno with the kernel's words",
      0x300,
      `efffffff${request}0900010046756c6c00000000`,
      { errno: 17, text: 'Full' },
    ],
    [
      'an errno with the request repeated before the words',
      0x200,
      `efffffff${request}${'00'.repeat(16)}0900010046756c6c00000000`,
      { errno: 17, text: 'Full' },
    ],
  ])('reads %s', (_what, flags, payload, expected) => {
    expect(answer(flags, payload)).toEqual(expected);
  });
});

describe('readers', () => {
  it('find index, name, state, bridge and kind of a link', () => {
    const header = Buffer.from('00000100070000000110000000000000', 'hex');
    const attributes = encodeAttributes([
      attribute.text(3, 'bth12'),
      attribute.u32(10, 4),
      attribute.nested(18, [attribute.text(1, 'veth')]),
    ]);
    const message = { type: 16, flags: 0, sequence: 1, payload: Buffer.concat([header, attributes]) };
    expect(readLink(message)).toEqual({
      mtu: 0,
      index: 7,
      name: 'bth12',
      up: true,
      master: 4,
      kind: 'veth',
      alias: '',
    });
  });

  it.each([
    ['a route of the main table', 254, 1, 16, 0x0a010000, { base: 0x0a010000, prefixLength: 16 }],
    ['the default route: no', 254, 1, 0, undefined, undefined],
    ['a local route: no', 255, 2, 32, 0x0a010001, undefined],
  ])('take %s', (_what, table, kind, prefixLength, destination, expected) => {
    const header = Buffer.from([2, prefixLength, 0, 0, table, 2, 0, kind, 0, 0, 0, 0]);
    const attributes = destination === undefined ? [] : [attribute.u32be(1, destination)];
    const payload = Buffer.concat([header, encodeAttributes(attributes)]);
    expect(readRoute({ type: 24, flags: 0, sequence: 1, payload })).toEqual(expected);
  });
});
