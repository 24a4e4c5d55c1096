/** Secrets and their like, of the wire at API 1.55; their data is never told. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead } from './meta.ts';

interface DriverSpec {
  Name: string;
  Options?: StringMap | null;
}

export interface SecretSpec {
  Name?: string;
  Labels?: StringMap | null;
  Driver?: DriverSpec | null;
  Templating?: DriverSpec | null;
}

/** Body of POST /secrets/create and of an update. `Data` is base64. */
export interface SecretRequest extends SecretSpec {
  Data?: string | null;
}

export interface SecretInspect extends ObjectHead {
  Spec: SecretSpec;
}
