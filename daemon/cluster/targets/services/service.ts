import type { Tags } from '../input/resource-rules.ts';

/** What clients reach: listeners with their groups. Record `target-service/<id>`. */
export interface Service {
  id: string;
  name: string;
  /** Id of the certificate that its listeners of HTTPS show; absent = that of the cluster interface. */
  certificate?: string;
  tags: Tags;
  clientToken: string | undefined;
  fingerprint: string;
  createdMs: number;
  updatedMs: number;
}

/** A port of the managers and what is done with its requests. Record `target-listener/<service>/<id>`. */
export interface Listener {
  id: string;
  service: string;
  name: string;
  /** Of HTTPS this host ends TLS, with the certificate of its service; clients may speak HTTP/2 there. */
  protocol: 'HTTP' | 'HTTPS' | 'TLS_PASSTHROUGH';
  port: number;
  defaultAction: Action;
  tags: Tags;
  clientToken: string | undefined;
  fingerprint: string;
  createdMs: number;
  updatedMs: number;
}

export type Action =
  | { forward: { targetGroups: readonly WeightedGroup[] } }
  | { fixedResponse: { statusCode: number } };

export interface WeightedGroup {
  /** Id of a group. */
  targetGroupIdentifier: string;
  /** Share of the requests among the weights of all groups; 0 = none. */
  weight: number;
}

/** Groups that an action forwards to. */
export function groupsOf(action: Action): readonly WeightedGroup[] {
  return 'forward' in action ? action.forward.targetGroups : [];
}
