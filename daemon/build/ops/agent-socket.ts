import { once } from 'node:events';
import { chmod, chown } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot } from '../../base/kernel/files/safepath.ts';
import { limits } from '../../base/limits.ts';

interface AgentPlace {
  id: string;
  /** Ours alone, and empty. */
  directory: string;
  owner: { uid: number; gid: number };
  /** Bits of chmod. */
  mode: number;
  signal: AbortSignal;
}

/** A socket in the file system; disposing ends its connections. */
export interface AgentSocket extends AsyncDisposable {
  path: string;
}

/** Each connection to the socket is one to the key agent of the client. Its keys never leave the client. */
export async function openAgentSocket(
  session: Pick<BuildSession, 'agent'>,
  { id, directory, owner, mode, signal }: AgentPlace,
): Promise<AgentSocket> {
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    // Its command is told by the end of the connection.
    void forward(session, { id, socket, signal: ends })
      .finally(() => {
        socket.destroy();
        sockets.delete(socket);
      })
      .catch(() => undefined /* see above */);
  });
  server.maxConnections = limits.buildAgentConnectionsMax;
  const close = async (): Promise<void> => {
    stop.abort();
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => {
      server.close(resolve);
    });
  };
  const path = join(directory, 'agent');
  try {
    failpoint('build.ops.agent');
    await listen(server, directory);
    await chown(path, owner.uid, owner.gid);
    await chmod(path, mode);
    return { path, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** By a descriptor: names of sockets are short. */
async function listen(server: Server, directory: string): Promise<void> {
  using opened = openRoot(directory);
  const listening = once(server, 'listening');
  server.listen(join(opened.path, 'agent'));
  await listening;
}

async function forward(
  session: Pick<BuildSession, 'agent'>,
  { id, socket, signal }: { id: string; socket: Socket; signal: AbortSignal },
): Promise<void> {
  await using agent = session.agent(id, signal);
  const asked = async (): Promise<void> => {
    // Nobody sets an encoding: its pieces are Buffers.
    for await (const bytes of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      await agent.send(bytes);
    }
    agent.end();
  };
  const answered = async (): Promise<void> => {
    for await (const bytes of agent.received) {
      if (!socket.write(bytes)) {
        await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]);
      }
    }
    socket.end();
  };
  await Promise.all([asked(), answered()]);
}
