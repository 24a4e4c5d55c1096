import type { ProgressMessage } from '../../../api/types/image.ts';
import { progressBar } from '../progress.ts';
import { shortId } from '../../base/ids.ts';
import { unreachable } from '../../base/errors.ts';
import { watch } from '../watch.ts';
import type { LayerPush, PushProgress } from './layer-push.ts';

/** The layers of one push as messages that clients draw bars from, while `work` runs (moby distribution/push.go). */
export async function* pushProgress(
  layers: readonly LayerPush[],
  work: Promise<unknown>,
): AsyncGenerator<ProgressMessage> {
  const shown = new Map<LayerPush, string>();
  // All layers at once, so that their lines stand in the order of the image.
  yield* layers.map((layer) => messageOf({ phase: 'preparing' }, idOf(layer)));
  yield* watch(work, function* changes() {
    for (const layer of layers) {
      const message = messageOf(layer.progress, idOf(layer));
      const text = JSON.stringify(message);
      if (shown.get(layer) !== text) {
        shown.set(layer, text);
        yield message;
      }
    }
  });
}

function messageOf(progress: PushProgress, id: string): ProgressMessage {
  switch (progress.phase) {
    case 'preparing':
      return { status: 'Preparing', progressDetail: {}, id };
    case 'waiting':
      return { status: 'Waiting', progressDetail: {}, id };
    case 'compressing':
      return { status: 'Preparing', ...bar(progress), id };
    case 'pushing':
      return { status: 'Pushing', ...bar(progress), id };
    case 'exists':
      return { status: 'Layer already exists', progressDetail: {}, id };
    case 'mounted':
      return { status: `Mounted from ${progress.from}`, progressDetail: {}, id };
    case 'pushed':
      return { status: 'Pushed', progressDetail: {}, id };
    default:
      return unreachable(progress);
  }
}

function bar(done: { current: number; total: number }): Pick<ProgressMessage, 'progressDetail' | 'progress'> {
  const { current, total } = done;
  return { progressDetail: { current, total }, progress: progressBar(current, total) };
}

function idOf({ layer }: LayerPush): string {
  return shortId(layer.diffId);
}
