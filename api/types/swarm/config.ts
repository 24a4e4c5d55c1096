/** A config of the wire at API 1.44, without its data. Types only. */

import type { StringMap } from '../maps.ts';

export interface ConfigSpec {
  Name?: string;
  Labels?: StringMap | null;
  Templating?: { Name: string; Options?: StringMap | null } | null;
}
