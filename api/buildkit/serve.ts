import type { Duplex } from 'node:stream';
import type { Logger } from '../../daemon/base/logger.ts';
import type { BuildkitPort } from '../types/build/ports.ts';
import { serveRpc, type RpcMethod, type RpcServer } from './rpc/server.ts';
import { contentMethods } from './services/content.ts';
import { controlMethods } from './services/control.ts';
import { buildkitStatus } from './services/errors.ts';
import { gatewayMethods } from './services/gateway.ts';
import { healthMethods } from './services/health.ts';
import { sessionMethods } from './services/session.ts';

/** Serves BuildKit's protocol on a connection: one of HTTP/2 from its first byte on, or an upgraded one. */
export function serveBuildkit(connection: Duplex, port: BuildkitPort, log: Logger): RpcServer {
  const methods = new Map<string, RpcMethod>([
    ...controlMethods(port),
    ...contentMethods(port.history),
    ...gatewayMethods(port),
    ...healthMethods(),
    ...sessionMethods(port, log),
  ]);
  return serveRpc(connection, { methods, log, statusOf: buildkitStatus });
}
