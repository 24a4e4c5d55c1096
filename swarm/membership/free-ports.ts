import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { EngineError, errnoOf, errorText, failedPrecondition } from '../../daemon/base/errors.ts';
import { joinAddr, splitAddr, type Addresses } from './addresses.ts';

const ATTEMPTS = 20;
/** Below the ports that swarms publish (30000 on), and those that connections are given (32768 on). */
const PORT_MIN = 20_000;
const PORT_MAX = 29_999;

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

/**
 * The first of two free ports beside each other. Not the kernel's choice: it takes ports for outgoing connections from
 * the same range, and one that gets the second port before the store listens there would keep this node from its
 * swarm.
 */
async function freePair(host: string): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    const held: Server[] = [];
    try {
      held.push(await listening(host, port));
      held.push(await listening(host, port + 1));
      return port;
    } catch (error) {
      if (errnoOf(error) !== 'EADDRINUSE') {
        throw error;
      }
    } finally {
      held.forEach((server) => server.close());
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

/**
 * Throws failed_precondition where somebody listens at the port of the store already: it would end at each start, and
 * the manager would not be ready until it is given up.
 */
export async function checkStorePort(listenAddr: string): Promise<void> {
  const { host, port } = splitAddr(listenAddr);
  const storePort = Number(port) + 1;
  try {
    (await listening(host, storePort)).close();
  } catch (error) {
    throw failedPrecondition(
      `the store of the swarm cannot listen at ${joinAddr({ host, port: String(storePort) })}, ` +
        `the port after that of ListenAddr: ${errorText(error)}`,
      { cause: error },
    );
  }
}
