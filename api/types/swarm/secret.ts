/** Secrets and their like, of the wire at API 1.44, without their data. Types only. */

import type { StringMap } from '../maps.ts';

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
