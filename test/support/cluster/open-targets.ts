import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock, type Clock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { HealthNews } from '../../../daemon/cluster/targets/health/checker.ts';
import { TargetGroups, type TargetGroupsDeps } from '../../../daemon/cluster/targets/target-groups.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../daemon/hub/records/mirror.ts';
import type { Records } from '../../../daemon/hub/records/port.ts';
import type { TargetsPort } from '../../../api/types/cluster/targets.ts';
import { openDatabase } from '../../../storage/database/index.ts';

export interface OpenTargets extends AsyncDisposable {
  targets: TargetGroups;
  records: Records;
  store: Mirror;
  /** Health that was told on. */
  news: HealthNews[];
  /** Asks for an operation; identifiers of the path and the query go by name. */
  ask(
    operation: keyof TargetsPort,
    request?: { params?: Record<string, string>; query?: string; body?: unknown },
  ): Promise<Record<string, unknown>>;
}

/** Target groups with records in memory, on a network that has no containers; not started. */
export async function openTargets(
  deps: Partial<TargetGroupsDeps> = {},
  clock: Clock = systemClock,
  records: Records = new LocalRecords(openDatabase(':memory:', silentLogger)),
): Promise<OpenTargets> {
  const news: HealthNews[] = [];
  const mirror = await Mirror.open({ records, clock, log: silentLogger }, 'target');
  const targets = new TargetGroups({
    store: mirror,
    places: {
      find: () => Promise.resolve(undefined),
      problem: ({ config }) =>
        Promise.resolve(
          config.vpcIdentifier === 'nowhere'
            ? { code: 'NetworkNotFound', message: 'there is no network nowhere' }
            : undefined,
        ),
    },
    functions: { run: () => Promise.reject(new Error('there are no functions')) },
    tasks: { list: () => Promise.resolve(undefined) },
    isOurs: () => true,
    hasPeers: () => false,
    onHealth: (one) => news.push(one),
    listenHost: '127.0.0.1',
    certificate: undefined,
    clock,
    log: silentLogger,
    ...deps,
  });
  return {
    targets,
    records,
    store: mirror,
    news,
    ask: async (operation, { params = {}, query = '', body } = {}) => {
      const request = { params, query: new URLSearchParams(query), body };
      return { ...(await targets.operations[operation](request)) };
    },
    [Symbol.asyncDispose]: async () => {
      await targets[Symbol.asyncDispose]();
      mirror[Symbol.dispose]();
    },
  };
}

/** A target: an HTTP server at a free port of this host. */
export interface TestTarget extends AsyncDisposable {
  port: number;
  server: Server;
}

export async function startTarget(serve: Parameters<typeof createServer>[1]): Promise<TestTarget> {
  const server = createServer(serve);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    server,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
