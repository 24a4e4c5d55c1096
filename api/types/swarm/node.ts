/** A node as its user wants it and as it describes itself, at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead } from './meta.ts';
import type { Platform, ResourceAmounts } from './task.ts';

/** `Role` is the wish; the role of the node's certificate follows it. */
export interface NodeSpec {
  Name?: string;
  Labels?: StringMap | null;
  Role: 'worker' | 'manager';
  Availability: 'active' | 'pause' | 'drain';
}

/** `Architecture` is uname's (`x86_64`), where platforms of images say `amd64`. */
export interface NodeDescription {
  Hostname?: string;
  Platform?: Platform;
  Resources?: ResourceAmounts;
  Engine?: {
    EngineVersion?: string;
    Labels?: StringMap | null;
    Plugins?: { Type: string; Name: string }[] | null;
  };
  TLSInfo?: TlsInfo;
}

/** Which root a node trusts (PEM), and the issuer of its certificate (base64 of DER of name and public key). */
export interface TlsInfo {
  TrustRoot?: string;
  CertIssuerSubject?: string;
  CertIssuerPublicKey?: string;
}

export type NodeState = 'unknown' | 'down' | 'ready' | 'disconnected';

export type Reachability = 'unknown' | 'unreachable' | 'reachable';

/** A node of `GET /nodes`. */
export interface NodeInspect extends ObjectHead {
  Spec: NodeSpec;
  Description: NodeDescription;
  Status: { State: NodeState; Message?: string; Addr?: string };
  /** Of managers only. */
  ManagerStatus?: { Leader?: true; Reachability: Reachability; Addr: string };
}
