import type { Tags } from '../input/resource-rules.ts';

export const GROUP_TYPES = ['IP', 'LAMBDA', 'INSTANCE', 'ALB'] as const;
export type GroupType = (typeof GROUP_TYPES)[number];

/** A collection of targets. Record `target-group/<id>`. */
export interface TargetGroup {
  /** `tg-` and 17 characters. */
  id: string;
  name: string;
  type: GroupType;
  config: GroupConfig;
  tags: Tags;
  status: 'CREATE_IN_PROGRESS' | 'ACTIVE' | 'CREATE_FAILED';
  /** Why it could not be created: a code and a sentence. */
  failure?: { code: string; message: string };
  /** Of the request that made it. */
  clientToken: string | undefined;
  /** SHA-256 of the parameters of that request. */
  fingerprint: string;
  createdMs: number;
  updatedMs: number;
}

/** Everything that a group may be told; which parts it has depends on its type (config-rules.ts). */
export interface GroupConfig {
  port?: number;
  protocol?: 'HTTP' | 'HTTPS' | 'TCP';
  protocolVersion?: 'HTTP1' | 'HTTP2' | 'GRPC';
  ipAddressType?: 'IPV4' | 'IPV6';
  /** A network: its name, its id, or its alias `vpc-...`. */
  vpcIdentifier?: string;
  lambdaEventStructureVersion?: 'V1' | 'V2';
  healthCheck?: HealthCheck;
}

export interface HealthCheck {
  enabled: boolean;
  protocol: 'HTTP' | 'HTTPS' | 'TCP';
  /** Absent for TCP. */
  protocolVersion?: 'HTTP1' | 'HTTP2';
  /** Absent = the port to which a target's traffic goes. */
  port?: number;
  /** Absent for TCP. */
  path?: string;
  /** Status codes of a healthy target, `200-299,301`; absent for TCP. */
  matcher?: { httpCode: string };
  healthCheckIntervalSeconds: number;
  healthCheckTimeoutSeconds: number;
  healthyThresholdCount: number;
  unhealthyThresholdCount: number;
}
