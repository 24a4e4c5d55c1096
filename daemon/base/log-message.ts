/** A line of a container's output, for a receiver. */
export interface LogMessage {
  stream: 'stdout' | 'stderr';
  /** Nanoseconds since the epoch. */
  nano: bigint;
  /** Without its newline; bytes, not text. */
  line: Buffer;
  /** Set on each piece of a line that is too long for one message. */
  partial?: { id: string; ordinal: number; last: boolean };
}
