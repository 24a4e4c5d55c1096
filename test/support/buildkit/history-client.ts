import { contentInfoResponse, infoRequest, readContentRequest } from '../../../api/buildkit/proto/content.ts';
import { readContentResponse } from '../../../api/buildkit/proto/content.ts';
import { statusRequest, statusResponse } from '../../../api/buildkit/proto/control.ts';
import { historyEvent, historyRequest, updateHistoryRequest } from '../../../api/buildkit/proto/history.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { ControlClient } from './control-client.ts';

type Event = ValueOf<typeof historyEvent>;
export type ToldRecord = NonNullable<Event['record']>;

const CONTROL = '/moby.buildkit.v1.Control';
const CONTENT = '/containerd.services.content.v1.Content';

/** Asks as `buildx history` does. */
export class HistoryClient {
  readonly #client: ControlClient;

  constructor(client: ControlClient) {
    this.#client = client;
  }

  /** What is known now, with the headers of the answer. */
  async list(
    question: Sparse<ValueOf<typeof historyRequest>> = {},
  ): Promise<{ records: ToldRecord[]; now: string }> {
    const request = historyRequest.encode({ earlyExit: true, ...question });
    const call = this.#client.stream(`${CONTROL}/ListenBuildHistory`, request);
    let now = '';
    call.once('metadata', (head) => {
      now = String(head.get('buildkit-current-timestamp')[0]);
    });
    const records: ToldRecord[] = [];
    for await (const bytes of call as AsyncIterable<Buffer>) {
      const { record } = historyEvent.decode(bytes);
      records.push(...(record ? [record] : []));
    }
    return { records, now };
  }

  /** From now on, one by one; `type ref`. */
  async *events(question: Sparse<ValueOf<typeof historyRequest>> = {}): AsyncGenerator<string> {
    const call = this.#client.stream(`${CONTROL}/ListenBuildHistory`, historyRequest.encode(question));
    try {
      for await (const bytes of call as AsyncIterable<Buffer>) {
        const { type, record } = historyEvent.decode(bytes);
        yield `${['started', 'complete', 'deleted'][type]} ${record?.ref}`;
      }
    } finally {
      call.cancel();
    }
  }

  async update(change: Sparse<ValueOf<typeof updateHistoryRequest>>): Promise<void> {
    await this.#client.call(`${CONTROL}/UpdateBuildHistory`, updateHistoryRequest.encode(change));
  }

  /** What a build printed, and names of its steps. */
  async log(ref: string): Promise<{ printed: string; names: Set<string> }> {
    const call = this.#client.stream(`${CONTROL}/Status`, statusRequest.encode({ ref }));
    let printed = '';
    const names = new Set<string>();
    for await (const bytes of call as AsyncIterable<Buffer>) {
      const { logs, vertexes } = statusResponse.decode(bytes);
      printed += logs.map(({ data }) => data.toString()).join('');
      vertexes.forEach(({ name }) => names.add(name));
    }
    return { printed, names };
  }

  /** Bytes that belong to a record, as their size and pieces say. */
  async content(digest: string, from = 0, length = 0): Promise<Buffer> {
    const size = contentInfoResponse.decode(
      await this.#client.call(`${CONTENT}/Info`, infoRequest.encode({ digest })),
    ).info?.size;
    const request = readContentRequest.encode({ digest, offset: from, size: length || (size ?? 0) - from });
    const pieces: Buffer[] = [];
    for await (const bytes of this.#client.stream(`${CONTENT}/Read`, request) as AsyncIterable<Buffer>) {
      pieces.push(readContentResponse.decode(bytes).data);
    }
    return Buffer.concat(pieces);
  }
}
