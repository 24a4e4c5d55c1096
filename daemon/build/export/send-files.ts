import { Readable } from 'node:stream';
import type { FileQuestion, FileSending, GivenPacket } from '../../../api/types/build/session.ts';
import { TarParser } from '../../../storage/tar/parser.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ExportDeps } from './ports.ts';
import { FileListing } from './file-listing.ts';

/** Bytes of one packet, and of packets that are sent together. */
const PIECE_BYTES = 256 * 1024;
/** The last packet of a file, and about what it takes. */
const END = Buffer.alloc(0);
const END_BYTES = 16;

export interface SendFilesOptions {
  signal: AbortSignal;
  /** Bytes of files that were sent so far. */
  sent: (bytes: number) => void;
}

/**
 * Sends the files of a tar to a client that makes them: the list while the tar is written into a spool, then what the
 * client asks for, in its order. Memory is bounded by the number of files, 16 bytes and a number each. Rejects with
 * what the client says went wrong.
 */
export async function sendFiles(
  spools: ExportDeps['spools'],
  { tar, sending }: { tar: AsyncIterable<Buffer>; sending: FileSending },
  options: SendFilesOptions,
): Promise<void> {
  const listing = new FileListing();
  const asked = new Questions(listing);
  const asking = asked.read(sending.questions);
  // Awaited below.
  asking.catch(() => undefined /* see above */);
  try {
    const listed = Readable.from(list(tar, listing, sending), { objectMode: false });
    await using spool = await spools.raw(listed, { what: 'export of files', signal: options.signal });
    await sending.send([{ kind: 'listed' }]);
    failpoint('build.export.files');
    await serve(asked, { sending, listing, spool, sent: options.sent });
    await sending.send([{ kind: 'finished' }]);
    sending.end();
  } catch (error) {
    if (isEngineError(error, 'canceled')) {
      // Why the client takes no more is in its status.
      await asking;
    }
    throw error;
  }
  await asking;
}

/** What passes is listed, and the client told of it. */
async function* list(
  tar: AsyncIterable<Buffer>,
  listing: FileListing,
  sending: FileSending,
): AsyncGenerator<Buffer> {
  const parser = new TarParser(listing, 'files for the client');
  for await (const chunk of tar) {
    parser.push(chunk);
    const stats = listing.take();
    if (stats.length > 0) {
      await sending.send(stats.map((stat) => ({ kind: 'stat', stat })));
    }
    yield chunk;
  }
  parser.end();
}

async function serve(
  asked: Questions,
  {
    sending,
    listing,
    spool,
    sent,
  }: {
    sending: FileSending;
    listing: FileListing;
    spool: { read(offset: number, length: number): Promise<Buffer> };
    sent: (bytes: number) => void;
  },
): Promise<void> {
  let together: GivenPacket[] = [];
  let togetherBytes = 0;
  let total = 0;
  const flush = async (): Promise<void> => {
    if (together.length > 0) {
      await sending.send(together);
      sent(total);
    }
    together = [];
    togetherBytes = 0;
  };
  for (;;) {
    const id = asked.take();
    if (id === undefined) {
      await flush();
      if ((await asked.more()) === 'finished') {
        return;
      }
      continue;
    }
    const { offset, size } = listing.ranges.get(id) ?? { offset: 0, size: 0 };
    for (let at = 0; at < size; at += PIECE_BYTES) {
      const bytes = await spool.read(offset + at, Math.min(PIECE_BYTES, size - at));
      together.push({ kind: 'data', id, bytes });
      togetherBytes += bytes.length;
      total += bytes.length;
      if (togetherBytes >= PIECE_BYTES) {
        await flush();
      }
    }
    together.push({ kind: 'data', id, bytes: END });
    togetherBytes += END_BYTES;
    if (togetherBytes >= PIECE_BYTES) {
      await flush();
    }
  }
}

/** What the client asks for, each file once. */
class Questions {
  readonly #listing: FileListing;
  readonly #known = new Set<number>();
  #waiting: number[] = [];
  #at = 0;
  #state: 'asking' | 'finished' = 'asking';
  #error: unknown;
  #changed = withResolvers<undefined>();

  constructor(listing: FileListing) {
    this.#listing = listing;
  }

  async read(questions: AsyncIterable<readonly FileQuestion[]>): Promise<void> {
    try {
      for await (const batch of questions) {
        batch.forEach((question) => this.#add(question));
        this.#changed.resolve(undefined);
      }
      if (this.#state === 'asking') {
        throw invalidArgument('files for the client: it ended before it had all of them');
      }
    } catch (error) {
      this.#error = error;
      throw error;
    } finally {
      this.#changed.resolve(undefined);
    }
  }

  /** The next file, by its number. */
  take(): number | undefined {
    const next = this.#waiting[this.#at];
    this.#at += next === undefined ? 0 : 1;
    if (next === undefined) {
      this.#waiting = [];
      this.#at = 0;
    }
    return next;
  }

  /** Waits for what comes next. Throws what the client says went wrong. */
  async more(): Promise<'wanted' | 'finished'> {
    for (;;) {
      if (this.#error !== undefined) {
        throw this.#error as Error; // Thrown by what sends.
      }
      if (this.#waiting.length > this.#at) {
        return 'wanted';
      }
      if (this.#state === 'finished') {
        return 'finished';
      }
      this.#changed = withResolvers();
      await this.#changed.promise;
    }
  }

  #add(question: FileQuestion): void {
    if (question.kind === 'finished') {
      this.#state = 'finished';
      return;
    }
    const { id } = question;
    if (!this.#listing.ranges.has(id) || this.#known.has(id)) {
      throw invalidArgument(`files for the client: it asks for number ${id}, which it cannot have`);
    }
    this.#known.add(id);
    this.#waiting.push(id);
  }
}
