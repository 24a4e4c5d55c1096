import type { SourceConversion } from '../policy/named-source.ts';

/** Who a graph is of. */
export interface GraphOwner {
  /** Its session, for local sources that name none. */
  session: string;
  sharedKey: string;
  /** `linux/amd64`: of operations that name none. */
  platform: string;
  entitlements: readonly string[];
  /** What a policy of the client makes of sources. */
  convert: SourceConversion;
}
