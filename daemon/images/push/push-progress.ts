import type { ProgressMessage } from '../../../api/types/image.ts';
import { progressBar } from '../../../storage/tarballs/progress.ts';
import { shortId } from '../../base/ids.ts';
import { unreachable } from '../../base/errors.ts';
import { watch } from '../watch.ts';
import type { LayerPush, PushProgress } from './layer-push.ts';

/** The layers of one push as messages that clients draw bars from, while `work` runs (moby distribution/push.go). */
export function pushProgress(
  layers: readonly LayerPush[],
  work: Promise<unknown>,
): AsyncGenerator<ProgressMessage> {
  const shown = new Map<LayerPush, string>();
  return watch(work, function* changes() {
    for (const layer of layers) {
      const message = messageOf(layer.progress, shortId(layer.layer.diffId));
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
    case 'pushing': {
      const { current, total } = progress;
      return {
        status: 'Pushing',
        progressDetail: { current, total },
        progress: progressBar(current, total),
        id,
      };
    }
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
