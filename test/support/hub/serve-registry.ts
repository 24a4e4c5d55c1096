import type { RateRules } from '../../../daemon/hub/limits/rules.ts';
import { peopledHub, type OpenHub } from './open-hub.ts';
import { RegistryClient } from './registry-client.ts';
import { serveHub, type ServedHub } from './serve-hub.ts';

export interface ServedRegistry extends AsyncDisposable {
  hub: OpenHub;
  server: ServedHub;
  nobody: RegistryClient;
  /** By name with a token of these scopes; for packages by default. */
  as: (user: string, ...scopes: string[]) => Promise<RegistryClient>;
}

/** The registry of a hub of alice, bob and carol (open-hub.ts) behind its listener. */
export async function serveRegistry(rules: Partial<RateRules> = {}, quotaBytes = 0): Promise<ServedRegistry> {
  const hub = await peopledHub(rules, undefined, undefined, quotaBytes);
  const server = await serveHub(hub);
  return {
    hub,
    server,
    nobody: new RegistryClient(server.port),
    as: async (user, ...scopes) => {
      const token = await hub.token(user, ...(scopes.length > 0 ? scopes : ALL));
      return new RegistryClient(server.port, basic(user, token));
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      hub[Symbol.dispose]();
    },
  };
}

const ALL = ['write:packages', 'delete:packages'];

export function basic(name: string, secret: string): string {
  return `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
}
