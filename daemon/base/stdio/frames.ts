/** Length of the header before each piece of output on a multiplexed stream (API "attach": stream format). */
export const FRAME_HEADER_BYTES = 8;

/** Number of a stream in a frame's first byte. */
export const STREAM_NUMBER = { stdout: 1, stderr: 2, systemerr: 3 } as const;

/** Writes a frame header, stream number, three zeros and the payload length as uint32 BE, at `offset`. */
export function writeFrameHeader(target: Buffer, offset: number, stream: number, length: number): void {
  target[offset] = stream;
  target[offset + 1] = 0;
  target[offset + 2] = 0;
  target[offset + 3] = 0;
  // Four stores instead of writeUInt32BE: its argument checks cost more than the rest of a short line.
  target[offset + 4] = length >>> 24;
  target[offset + 5] = length >>> 16;
  target[offset + 6] = length >>> 8;
  target[offset + 7] = length;
}

/** A frame header of its own, for payloads that are written as they came. */
export function frameHeader(stream: keyof typeof STREAM_NUMBER, length: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, STREAM_NUMBER[stream], length);
  return header;
}
