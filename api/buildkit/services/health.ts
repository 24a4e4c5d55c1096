import { healthRequest, healthResponse, SERVING } from '../proto/session.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { unary } from './method.ts';

/** `grpc.health.v1.Health`: who is answered is served. */
export function healthMethods(): [string, RpcMethod][] {
  const check = unary(healthRequest, healthResponse, () => Promise.resolve({ status: SERVING }));
  return [['/grpc.health.v1.Health/Check', check]];
}
