import type { LogMessage } from '../../daemon/base/log-message.ts';

/** A connection to a receiver of log messages. */
export interface LogSink {
  /** Throws when the receiver cannot be reached now: a container is not started then. Absent = not asked. */
  connect?(): Promise<void>;
  /**
   * Delivers messages in order. Resolves when the receiver has them, as far as its protocol can tell; rejects when it
   * may not have all of them, and is called again with the same. Throws `RejectedError` for what will never be taken.
   */
  send(messages: readonly LogMessage[]): Promise<void>;
  close(): void;
}

/** How a driver wants its messages. */
export interface SinkTerms {
  sink: LogSink;
  /** Bytes of a line in one message. */
  messageBytesMax: number;
  /** Time in which messages are gathered for one request. */
  lingerMs: number;
  /** First pause after a failure. */
  retryWaitMs: number;
  /** Attempts after which messages are given up; null = never. */
  retriesMax: number | null;
}

/** As dockerd's: most receivers know lines of this length. */
const MESSAGE_BYTES_MAX = 16 * 1024;
const RETRY_WAIT_MS = 100;

export function terms(sink: LogSink, change: Partial<SinkTerms> = {}): SinkTerms {
  return {
    sink,
    messageBytesMax: MESSAGE_BYTES_MAX,
    lingerMs: 0,
    retryWaitMs: RETRY_WAIT_MS,
    retriesMax: null,
    ...change,
  };
}

/** The receiver has understood and refused: sending it again would be refused again. */
export class RejectedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RejectedError';
  }
}
