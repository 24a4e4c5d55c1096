import type { VolumeView } from '../../api/types/system.ts';
import { formatNano } from '../base/clock.ts';
import type { ForeignVolume } from './foreign-volumes.ts';

/** A volume as the API shows it. `mountpoint` is what is known of it without its plugin. Pure. */
export function volumeView({ row, told, scope = 'local' }: ForeignVolume, mountpoint: string): VolumeView {
  const made = row.createdNano === 0n ? told?.createdAt : `${formatNano(row.createdNano).slice(0, 19)}Z`;
  return {
    ...(made !== undefined && { CreatedAt: made }),
    Driver: row.driver,
    Labels: nullWhenEmpty(row.labels),
    Mountpoint: told?.mountpoint || mountpoint,
    Name: row.name,
    Options: nullWhenEmpty(row.options),
    Scope: scope,
    ...(told?.status && { Status: told.status }),
  };
}

function nullWhenEmpty(map: Record<string, string>): Record<string, string> | null {
  return Object.keys(map).length === 0 ? null : map;
}
