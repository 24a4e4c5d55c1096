import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { EngineError, errnoOf } from '../../daemon/base/errors.ts';
import { joinAddr, splitAddr, type Addresses } from './addresses.ts';

const ATTEMPTS = 20;
const PORT_MAX = 65_535;

/**
 * Port 0 stands for one that is free now, with the next one for the store: others are told of it, and it is the same
 * after a restart. A port 0 to advertise is the one that the node listens at.
 */
export async function withPorts<T extends Addresses>(addresses: T): Promise<T> {
  const listen = splitAddr(addresses.listenAddr);
  const advertise = splitAddr(addresses.advertiseAddr);
  const port = isNone(listen.port) ? String(await freePair(listen.host)) : listen.port;
  return {
    ...addresses,
    listenAddr: joinAddr({ ...listen, port }),
    ...(addresses.advertiseAddr !== '' && isNone(advertise.port)
      ? { advertiseAddr: joinAddr({ ...advertise, port }) }
      : {}),
  };
}

function isNone(port: string): boolean {
  return Number(port) === 0;
}

/** The first of two free ports beside each other. */
async function freePair(host: string): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const first = await listening(host, 0);
    const port = portOf(first);
    try {
      if (port > 0 && port < PORT_MAX) {
        (await listening(host, port + 1)).close();
        return port;
      }
    } catch (error) {
      if (errnoOf(error) !== 'EADDRINUSE') {
        throw error;
      }
    } finally {
      first.close();
    }
  }
  throw new EngineError(
    'unavailable',
    `no two free ports beside each other at ${host}: name one to listen at`,
  );
}

async function listening(host: string, port: number): Promise<Server> {
  const server = createServer();
  server.listen({ host, port });
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
