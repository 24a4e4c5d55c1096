/** A config of the wire at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead } from './meta.ts';

export interface ConfigSpec {
  Name?: string;
  Labels?: StringMap | null;
  Templating?: { Name: string; Options?: StringMap | null } | null;
}

/** Body of POST /configs/create and of an update. `Data` is base64. */
export interface ConfigRequest extends ConfigSpec {
  Data?: string | null;
}

export interface ConfigInspect extends ObjectHead {
  Spec: ConfigRequest;
}
