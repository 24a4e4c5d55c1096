import { EngineError, notImplemented } from '../../base/errors.ts';
import type { ExecOp } from '../graph/op.ts';

/** `NetMode` and `SecurityMode` of ops.proto. */
const NETWORKS = ['default', 'host', 'none'] as const;
const SANDBOX = 0;
const INSECURE = 1;

/** Throws forbidden without the entitlement, not_implemented. */
export function readNetwork(mode: number, entitlements: readonly string[]): ExecOp['network'] {
  const network = NETWORKS[mode];
  if (network === undefined) {
    throw notImplemented(`network mode ${mode} of a command is not supported`);
  }
  if (network === 'host' && !entitlements.includes('network.host')) {
    throw new EngineError('forbidden', 'network.host is not allowed');
  }
  return network;
}

/** Whether it is privileged. Throws forbidden without the entitlement, not_implemented. */
export function readSecurity(mode: number, entitlements: readonly string[]): boolean {
  if (mode === INSECURE && !entitlements.includes('security.insecure')) {
    throw new EngineError('forbidden', 'security.insecure is not allowed');
  }
  if (mode !== SANDBOX && mode !== INSECURE) {
    throw notImplemented(`security mode ${mode} of a command is not supported`);
  }
  return mode === INSECURE;
}
