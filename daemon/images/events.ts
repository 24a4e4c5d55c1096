import type { EventDraft } from '../events/journal-types.ts';
import type { ImageRecord } from './image-index.ts';
import { labelsOf } from './wire.ts';

/** An event of an image with dockerd's attributes: its labels, and a name that depends on the action. */
export function imageEvent(action: string, image: ImageRecord, name: string): EventDraft {
  return { type: 'image', action, actorId: image.row.id, attributes: { ...labelsOf(image), name } };
}
