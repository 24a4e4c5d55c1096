import type { ProgressMessage } from '../../../api/types/image.ts';
import { progressBar } from '../progress.ts';
import { unreachable } from '../../base/errors.ts';
import { shortId } from '../../base/ids.ts';
import { watch } from '../watch.ts';
import type { FetchProgress, LayerFetch } from './layer-fetch.ts';

type Phase = FetchProgress['phase'];
const ORDER: readonly Phase[] = ['waiting', 'downloading', 'verifying', 'extracting', 'done'];
/** Sent when a layer has reached a phase, however short the phase was. */
const PASSED: Readonly<Partial<Record<Phase, string>>> = {
  verifying: 'Verifying Checksum',
  extracting: 'Download complete',
  done: 'Pull complete',
};

interface Shown {
  fetch: LayerFetch;
  id: string;
  rank: number;
  text: string;
}

/** The layers of one pull as the messages that clients draw bars from (moby distribution/xfer). */
export class PullProgress {
  readonly #layers: Shown[];

  constructor(fetches: readonly LayerFetch[]) {
    this.#layers = fetches.map((fetch) => ({
      fetch,
      id: shortId(fetch.wanted.descriptor.digest),
      rank: -1,
      text: '',
    }));
  }

  /** Messages while `work` runs, and the last ones after it. Failures of `work` are left to the code that awaits it. */
  during(work: Promise<unknown>): AsyncGenerator<ProgressMessage> {
    return watch(work, () => this.#layers.flatMap((layer) => [...changes(layer)]));
  }
}

/** What has changed since a layer was shown last. */
function* changes(layer: Shown): Generator<ProgressMessage> {
  const { fetch, id } = layer;
  const progress = fetch.progress;
  const rank = ORDER.indexOf(progress.phase);
  for (const phase of ORDER.slice(layer.rank + 1, rank + 1)) {
    const status = PASSED[phase];
    if (status !== undefined) {
      yield { status, progressDetail: {}, id };
    }
  }
  layer.rank = rank;
  const message = now(progress, fetch.wanted.descriptor.size, id);
  const text = JSON.stringify(message);
  if (message !== undefined && text !== layer.text) {
    layer.text = text;
    yield message;
  }
}

function now(progress: FetchProgress, total: number, id: string): ProgressMessage | undefined {
  switch (progress.phase) {
    case 'waiting':
      return { status: 'Waiting', progressDetail: {}, id };
    case 'downloading':
      return progress.retryInMs === undefined
        ? bar('Downloading', progress.current, total, id)
        : { status: retryText(progress.retryInMs), progressDetail: {}, id };
    case 'extracting':
      return bar('Extracting', progress.current, total, id);
    case 'verifying':
    case 'done':
      return undefined;
    default:
      return unreachable(progress);
  }
}

function bar(status: string, current: number, total: number, id: string): ProgressMessage {
  return { status, progressDetail: { current, total }, progress: progressBar(current, total), id };
}

function retryText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return `Retrying in ${seconds} second${seconds === 1 ? '' : 's'}`;
}
