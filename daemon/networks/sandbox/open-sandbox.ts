import { failpoint } from '../../base/failpoint.ts';
import { newId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { Rollback } from '../../base/rollback.ts';
import type { CheckedRequest } from './check-request.ts';
import { releaseAddresses, allocateEndpoint } from './endpoints.ts';
import { gatewayOf } from './gateway.ts';
import { portMap } from './port-map.ts';
import { hostsFileOfCommand, hostsFileOfHost, resolveHostGateway } from '../files/hosts.ts';
import { formatResolvConf, hostResolver } from '../files/resolv.ts';
import {
  attachmentOf,
  inKernel,
  interfaceNames,
  ipsOf,
  canPublishPorts,
  nameFiles,
  defaultRoutesThrough,
} from './sandbox-context.ts';
import type { SandboxContext } from './sandbox-context.ts';
import { ownerOf } from './sandbox-owner.ts';
import type { Sandbox, SandboxRequest } from './sandbox.ts';
import { bareEndpoint } from './stored-endpoint.ts';

/** Makes a container's network. Leaves nothing when it throws. */
export function openSandbox(
  context: SandboxContext,
  request: SandboxRequest,
  checked: CheckedRequest,
): Promise<Sandbox> | Sandbox {
  switch (checked.endpoints[0]?.network.driver) {
    case 'host':
      return openHost(context, request, checked);
    case 'null':
    case undefined:
      return openIsolated(context, request, checked);
    default:
      return openNetworks(context, request, checked);
  }
}

function openHost(context: SandboxContext, request: SandboxRequest, checked: CheckedRequest): Sandbox {
  const { registry, files, defaultNetwork } = context;
  const extraHosts = resolveHostGateway(checked.extraHosts, () => defaultNetwork.hostGateway());
  return {
    netnsPath: null,
    ownerId: request.containerId,
    endpoints: { host: bareEndpoint(registry.builtIn.host.id, newId()) },
    gateway: null,
    ports: {},
    hosts:
      request.ofCommand === true
        ? hostsFileOfCommand({ hostname: request.hostname, extraHosts })
        : hostsFileOfHost(files.hosts(), extraHosts),
    resolvConf: formatResolvConf(hostResolver(files.resolver(), checked.resolver)),
  };
}

/** With the network `none`, or with none left. */
function openIsolated(context: SandboxContext, request: SandboxRequest, checked: CheckedRequest): Sandbox {
  const { registry, kernel } = context;
  const { containerId } = request;
  const plan = { attachments: [], defaultRoutes: [] };
  const endpoints: Sandbox['endpoints'] =
    checked.endpoints.length === 0 ? {} : { none: bareEndpoint(registry.builtIn.none.id, newId()) };
  return {
    netnsPath: inKernel(request, 'none', () => kernel.open(containerId, plan)),
    ownerId: containerId,
    endpoints,
    gateway: null,
    ports: {},
    ...nameFiles(context, request, checked, { endpoints }),
  };
}

async function openNetworks(
  context: SandboxContext,
  request: SandboxRequest,
  checked: CheckedRequest,
): Promise<Sandbox> {
  const { kernel, log, defaultNetwork, names, turns, ports: allocator } = context;
  const { containerId } = request;
  const owner = ownerOf(request);
  await using rollback = new Rollback(log, { container: containerId });

  const taken = checked.endpoints.map((wanted) => {
    defaultNetwork.ensure(wanted.network);
    const endpoint = allocateEndpoint(wanted, owner);
    rollback.defer('addresses', () => releaseAddresses(wanted.network, endpoint.addresses));
    return endpoint;
  });
  const gateway = gatewayOf(taken);
  const label = `${owner.containerName} (${gateway?.id})`;
  const ports =
    gateway !== undefined && canPublishPorts(context, gateway.network)
      ? await allocator.allocateInTurns(checked.ports.bindings, {
          addresses: ipsOf(gateway),
          endpoint: label,
          turns,
        })
      : [];
  rollback.defer('host ports', () => allocator.release(ports));

  const interfaces = interfaceNames(context, taken);
  const plan = {
    attachments: taken.map((endpoint, place) => attachmentOf(context, endpoint, interfaces[place] ?? '')),
    defaultRoutes: defaultRoutesThrough(gateway?.network, gateway?.settings),
  };
  const networkNames = taken.map(({ network }) => network.name).join(', ');
  const netnsPath = inKernel(request, networkNames, () => kernel.open(containerId, plan));
  rollback.defer('namespace', () =>
    kernel.close(
      containerId,
      taken.map(({ id }) => id),
    ),
  );

  failpoint('network.open.firewall');
  rollback.defer('firewall', () => kernel.unpublish(ports));
  await turns.inPieces(ports, limits.portsPerTurn, (piece) => kernel.publish(piece));

  failpoint('network.open.files');
  const endpoints = Object.fromEntries(taken.map(({ network, settings }) => [network.name, settings]));
  const outlet = taken.find((endpoint) => endpoint.isOutlet)?.network.name;
  const wiring = { endpoints, ...(outlet !== undefined && { outlet }) };
  const sandbox: Sandbox = {
    netnsPath,
    ownerId: containerId,
    ...wiring,
    gateway: gateway?.network.name ?? null,
    ports: portMap(checked.ports.ports, ports),
    ...nameFiles(context, request, checked, wiring),
  };
  names.open(containerId, sandbox);
  rollback.commit();
  return sandbox;
}
