import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';

/**
 * At start, after the rows were read: layers of builds that were not on the disk when the machine went down. They count
 * as lost, and results of builds that have them go. Layers of images were synced before their image was stored.
 */
export async function dropUnsynced(context: ImageContext): Promise<void> {
  const { database, journal, layers, index, collector, unsynced, log } = context;
  const first = unsynced.restore();
  if (first === undefined) {
    return;
  }
  const ofImages = new Set([...index.images()].flatMap(({ row }) => row.layerIds));
  const doubtful = new Set([...index.layerIds()].filter((id) => id >= first && !ofImages.has(id)));
  for (const id of doubtful) {
    index.setLost(id);
    await layers.remove(id);
  }
  log.warn(
    { layers: doubtful.size },
    'layers of builds were not on the disk when the machine went down, and are removed',
  );
  try {
    const removed = journal.commit(() => {
      for (const { id, layerId } of database.buildRecords.all()) {
        if (layerId !== null && doubtful.has(layerId)) {
          database.buildRecords.remove(id);
        }
      }
      unsynced.clear();
      failpoint('images.layers.drop');
      return collector.removeRows();
    });
    await collector.removeDirectories(removed);
  } catch (error) {
    // A full disk: no build takes what is lost, and the next start tries it again.
    log.error({ err: error }, 'results of builds whose layers are lost could not be removed');
  }
}
