import type { VolumeRow } from '../../storage/database/rows.ts';
import type { EventDraft } from '../events/journal-types.ts';

/** An event of a volume. Pure. */
export function draft(
  { name, driver }: Pick<VolumeRow, 'name' | 'driver'>,
  action: string,
  attributes: Record<string, string> = {},
): EventDraft {
  return { type: 'volume', action, actorId: name, attributes: { driver, ...attributes } };
}
