/**
 * DER (ITU-T X.690): the encoding of certificates and of requests for them. Each function gives one whole element.
 * Swarms need two kinds of certificate and one of request; their signatures are OpenSSL's, only the bytes that are
 * signed are put together here.
 */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) {
    return Buffer.from([length]);
  }
  const bytes = unsigned(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export function sequence(...elements: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, Buffer.concat(elements));
}

/** A set of one: larger ones would have to be sorted. */
export function setOf(member: Uint8Array): Buffer {
  return element(TAG.set, member);
}

/** A whole number that is not negative. */
export function integer(value: bigint): Buffer {
  const bytes = unsigned(value);
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return element(TAG.integer, isNegative ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

function unsigned(value: bigint): Buffer {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
}

/** An object identifier in its dotted form: `2.5.4.3`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) {
    digits.unshift((left & 0x7f) | 0x80);
  }
  return digits;
}

export function boolean(value: boolean): Buffer {
  return element(TAG.boolean, Buffer.of(value ? 0xff : 0));
}

export function utf8String(text: string): Buffer {
  return element(TAG.utf8String, Buffer.from(text));
}

export function octetString(content: Uint8Array): Buffer {
  return element(TAG.octetString, content);
}

/** @param unusedBits At the end of the last byte. */
export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.concat([Buffer.of(unusedBits), content]));
}

/** `[number]`, constructed (as an explicit tag is) or primitive (as the tag of a name in a list of names). */
export function context(number: number, content: Uint8Array, form: 'constructed' | 'primitive'): Buffer {
  return element((form === 'constructed' ? 0xa0 : 0x80) | number, content);
}

/** Milliseconds since 1970 as a time of a certificate, whole seconds: two digits of the year up to 2049 (RFC 5280). */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replaceAll(/\D/g, '')}Z`;
  return digits < '2050'
    ? element(TAG.utcTime, Buffer.from(digits.slice(2)))
    : element(TAG.generalizedTime, Buffer.from(digits));
}
