import type { BuildUpdate } from '../../../api/types/build/status.ts';
import { merged } from '../control/status-log.ts';

/** A build's log as BuildKit stores it: messages, each behind its length in four bytes. */
export const LOG_TYPE = 'application/vnd.buildkit.status.v0';

/** Output in one message, and parts of it: what clients take at once has a bound. */
const MESSAGE_BYTES = 256 * 1024;
const MESSAGE_PARTS = 1000;
const LENGTH_BYTES = 4;

/** Pure. */
export function frameLog(updates: readonly BuildUpdate[], encode: (update: BuildUpdate) => Buffer): Buffer {
  return Buffer.concat(
    gathered(updates).flatMap((update) => {
      const message = encode(update);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(message.length);
      return [length, message];
    }),
  );
}

/** Message by message. Pure. */
export function* logMessages(framed: Buffer): Generator<Buffer> {
  for (let at = 0; at + LENGTH_BYTES <= framed.length;) {
    const begin = at + LENGTH_BYTES;
    at = begin + framed.readUInt32LE(at);
    yield framed.subarray(begin, at);
  }
}

/** As few messages as the bounds let. */
function gathered(updates: readonly BuildUpdate[]): BuildUpdate[] {
  const groups: BuildUpdate[][] = [];
  let bytes = 0;
  for (const update of updates) {
    const more = update.logs.reduce((sum, { data }) => sum + data.length, 0);
    const last = groups.at(-1);
    if (last === undefined || bytes + more > MESSAGE_BYTES || last.length >= MESSAGE_PARTS) {
      groups.push([update]);
      bytes = more;
    } else {
      last.push(update);
      bytes += more;
    }
  }
  return groups.map((group) => merged(group));
}
