/** All MessagePack values of kinds that the forward protocol has; an unfinished last one is left out. */
export function unpack(bytes: Buffer): unknown[] {
  const values: unknown[] = [];
  const at = { offset: 0 };
  while (at.offset < bytes.length) {
    try {
      values.push(value(bytes, at));
    } catch (error) {
      if (error instanceof RangeError) {
        return values;
      }
      throw error;
    }
  }
  return values;
}

function value(bytes: Buffer, at: { offset: number }): unknown {
  const take = (size: number): number => {
    const found = bytes.readUIntBE(at.offset, size);
    at.offset += size;
    return found;
  };
  const text = (length: number): string => {
    if (at.offset + length > bytes.length) {
      throw new RangeError('unfinished');
    }
    at.offset += length;
    return bytes.toString('utf8', at.offset - length, at.offset);
  };
  const list = (length: number): unknown[] => Array.from({ length }, () => value(bytes, at));
  const map = (length: number): object =>
    Object.fromEntries(Array.from({ length }, () => [String(value(bytes, at)), value(bytes, at)]));
  const head = take(1);
  if (head <= 0x7f) {
    return head;
  }
  if (head <= 0x8f) {
    return map(head - 0x80);
  }
  if (head <= 0x9f) {
    return list(head - 0x90);
  }
  if (head <= 0xbf) {
    return text(head - 0xa0);
  }
  switch (head) {
    case 0xcc:
    case 0xcd:
    case 0xce:
      return take(2 ** (head - 0xcc));
    case 0xd7:
      return take(1) === 0 ? { seconds: take(4), nanos: take(4) } : undefined;
    case 0xd9:
    case 0xda:
    case 0xdb:
      return text(take(2 ** (head - 0xd9)));
    case 0xdc:
      return list(take(2));
    case 0xdd:
      return list(take(4));
    case 0xde:
      return map(take(2));
    default:
      throw new Error(`unknown MessagePack byte ${head}`);
  }
}
