import type { BuildkitPort } from '../../../types/build/ports.ts';
import { empty } from '../../proto/common.ts';
import { newContainerRequest, releaseContainerRequest } from '../../proto/containers.ts';
import {
  readDirRequest,
  readDirResponse,
  readFileRequest,
  readFileResponse,
  statFileRequest,
  statFileResponse,
} from '../../proto/gateway.ts';
import type { RpcMethod } from '../../rpc/server.ts';
import { buildOf } from '../build-id.ts';
import { execProcess } from './exec-process.ts';
import { unary } from '../method.ts';
import { statMessage } from '../stat.ts';

/** Containers of results, for clients that look into a build. `ref` of a file in one is the container's name. */
export function containerMethods(port: Pick<BuildkitPort, 'containers'>): [string, RpcMethod][] {
  const { containers } = port;
  return [
    [
      'NewContainer',
      unary(newContainerRequest, empty, async (request, { metadata, signal }) => {
        const { containerId: id, mounts, network, platform, constraints, extraHosts, hostname } = request;
        const asked = { id, mounts, network, platform, extraHosts, hostname };
        const filters = constraints?.filter ?? [];
        await containers.create(buildOf(metadata), { ...asked, constraints: filters }, signal);
        return {};
      }),
    ],
    ['ExecProcess', execProcess(port)],
    [
      'ReleaseContainer',
      unary(releaseContainerRequest, empty, async ({ containerId }, { metadata, signal }) => {
        await containers.release(buildOf(metadata), containerId, signal);
        return {};
      }),
    ],
    [
      'ReadFileContainer',
      unary(readFileRequest, readFileResponse, async (request, { metadata, signal }) => {
        const { ref: container, path, mountIndex: mount, range } = request;
        const { offset = 0, length = 0 } = range ?? {};
        const at = { container, mount, path, offset, length };
        return { data: await containers.readFile(buildOf(metadata), at, signal) };
      }),
    ],
    [
      'ReadDirContainer',
      unary(readDirRequest, readDirResponse, async (request, { metadata, signal }) => {
        const { ref: container, path, mountIndex: mount, includePattern: pattern } = request;
        const found = await containers.list(buildOf(metadata), { container, mount, path, pattern }, signal);
        return { entries: found.map((stat) => statMessage(stat)) };
      }),
    ],
    [
      'StatFileContainer',
      unary(statFileRequest, statFileResponse, async (request, { metadata, signal }) => {
        const { ref: container, path, mountIndex: mount } = request;
        return {
          stat: statMessage(await containers.stat(buildOf(metadata), { container, mount, path }, signal)),
        };
      }),
    ],
  ];
}
