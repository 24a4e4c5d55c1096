/** What a client of HTTP/2 begins with. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const SETTINGS = 4;
const EMPTY: Buffer = Buffer.alloc(0);

interface Frame {
  flags?: number;
  stream?: number;
  payload?: Buffer;
  /** That is told; undefined = as it is. */
  size?: number;
}

/** A frame of HTTP/2, right or wrong. */
export const raw = (
  type: number,
  { flags = 0, stream = 0, payload = EMPTY, size = payload.length }: Frame = {},
): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(size, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** What no peer may send, after settings. */
export const BROKEN: Record<string, Buffer> = {
  'data of no stream': raw(0, { payload: Buffer.from('x') }),
  'headers of a stream of ours': raw(1, { flags: 4, stream: 2, payload: Buffer.from([0x82]) }),
  'headers that cannot be unpacked': raw(1, {
    flags: 4,
    stream: 1,
    payload: Buffer.from([0xff, 0xff, 0xff, 0xff]),
  }),
  'settings of a length that there is not': raw(SETTINGS, { payload: Buffer.alloc(5) }),
  'a promise of a client': raw(5, { flags: 4, stream: 1, payload: Buffer.alloc(5) }),
  'a ping of a length that there is not': raw(6, { payload: Buffer.alloc(3) }),
  'a window that grows by nothing': raw(8, { payload: Buffer.alloc(4) }),
  'a continuation of nothing': raw(9, { stream: 1, payload: Buffer.from([0x82]) }),
  'a frame beyond all bounds': raw(0, { stream: 1, size: 0xff_ffff }),
};
