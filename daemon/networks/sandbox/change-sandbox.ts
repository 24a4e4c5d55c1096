import type { PublishedPort } from '../../../runtime/network/firewall/ruleset.ts';
import type { NetworkSandboxes } from '../../containers/ports.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { Rollback } from '../../base/rollback.ts';
import type { CheckedRequest } from './check-request.ts';
import { dnsNames, releaseAddresses, allocateEndpoint } from './endpoints.ts';
import { gatewayOf } from './gateway.ts';
import { portMap, publishedPorts } from './port-map.ts';
import { isUserDefined } from '../network.ts';
import type { Network } from '../network.ts';
import {
  attachmentOf,
  check,
  inKernel,
  inKernelLater,
  interfaceName,
  canPublishPorts,
  nameFiles,
  register,
  defaultRoutesOf,
} from './sandbox-context.ts';
import type { SandboxContext } from './sandbox-context.ts';
import { ownerOf } from './sandbox-owner.ts';
import type { Sandbox, SandboxRequest } from './sandbox.ts';
import { addressesOf } from './stored-endpoint.ts';

/** Puts an open sandbox into one more network, which `request` has among its endpoints. */
export async function connectSandbox(
  context: SandboxContext,
  live: Sandbox,
  request: SandboxRequest,
  networkName: string,
): Promise<Sandbox> {
  const { kernel, log, defaultNetwork } = context;
  const { containerId } = request;
  const checked = check(context, request);
  context.registry.find(networkName);
  const wanted = checked.endpoints.find(({ network }) => network.name === networkName);
  if (wanted === undefined || live.netnsPath === null || live.endpoints['none'] !== undefined) {
    throw invalidArgument(
      `container ${containerId} cannot be connected to network ${networkName}: its network is not its own`,
    );
  }
  if (live.endpoints[networkName] !== undefined) {
    throw new EngineError(
      'forbidden',
      `endpoint with name ${ownerOf(request).containerName} already exists in network ${networkName}`,
    );
  }
  await using rollback = new Rollback(log, { container: containerId });
  defaultNetwork.ensure(wanted.network);
  const endpoint = allocateEndpoint(wanted, ownerOf(request));
  rollback.defer('addresses', () => releaseAddresses(endpoint.network, endpoint.addresses));

  const taken = inKernel(request, networkName, () => kernel.interfaceNames(containerId));
  const name = interfaceName(context, endpoint, taken);
  const attachment = attachmentOf(context, endpoint, name);
  await inKernelLater(request, networkName, () => kernel.attachInterface(containerId, attachment));
  rollback.defer('interface', () => kernel.detachInterface(containerId, endpoint.id));

  const endpoints = { ...live.endpoints, [networkName]: endpoint.settings };
  const before = endpoint.isOutlet ? { ...live, outlet: networkName } : live;
  const sandbox = rewired(context, request, checked, { before, endpoints });
  rollback.defer('host ports', () => context.ports.release(portsGained(context, live, sandbox)));
  rollback.defer('change of the sandbox', () => applyChange(context, request, sandbox, live));
  inKernel(request, networkName, () => applyChange(context, request, live, sandbox));
  rollback.commit();
  return sandbox;
}

/** A sandbox without one of its networks, until that is stored. */
export type Disconnected = Awaited<ReturnType<NetworkSandboxes['disconnect']>>;

/** Disconnects a sandbox from a network; its default route moves to another one, where there is one. */
export function disconnectSandbox(
  context: SandboxContext,
  live: Sandbox,
  request: SandboxRequest,
  networkName: string,
): Disconnected {
  const { kernel, registry, ports } = context;
  const endpoint = live.endpoints[networkName];
  if (endpoint === undefined) {
    return { sandbox: live, undo: nothing, finish: () => Promise.resolve() };
  }
  const network = registry.ofEndpoint(networkName, endpoint);
  const endpoints = { ...live.endpoints };
  delete endpoints[networkName];
  const { outlet, ...others } = live;
  const before = outlet === networkName ? others : live;
  const sandbox = rewired(context, request, check(context, request), { before, endpoints });
  const gained = portsGained(context, live, sandbox);
  const undo = (): void => {
    applyChange(context, request, sandbox, live);
    ports.release(gained);
  };
  try {
    applyChange(context, request, live, sandbox);
  } catch (error) {
    undo();
    throw error;
  }
  return {
    sandbox,
    undo,
    finish: async () => {
      failpoint('network.disconnect.detach');
      await kernel.detachInterface(request.containerId, endpoint.EndpointID ?? '');
      // Last: once released they may be another container's, and a second attempt would take them from it.
      ports.release(portsGained(context, sandbox, live));
      if (network !== undefined) {
        kernel.forgetFlows(addressesOf(endpoint).map(({ address }) => address));
        releaseAddresses(network, addressesOf(endpoint));
      }
    },
  };
}

/** The names of a container in its networks, after it was renamed. */
export function renameSandbox(context: SandboxContext, live: Sandbox, request: SandboxRequest): Sandbox {
  const { registry } = context;
  const endpoints = Object.fromEntries(
    Object.entries(live.endpoints).map(([name, endpoint]) => {
      const network = registry.ofEndpoint(name, endpoint);
      return network !== undefined && isUserDefined(network) && name !== live.outlet
        ? [name, { ...endpoint, DNSNames: dnsNames(endpoint, ownerOf(request)) }]
        : [name, endpoint];
    }),
  );
  const sandbox = { ...live, endpoints };
  register(context, request.containerId, request.containerName, sandbox);
  context.names.open(request.containerId, sandbox);
  return sandbox;
}

/** The sandbox as it is with these endpoints. Takes host ports where no network published them before. */
function rewired(
  context: SandboxContext,
  request: SandboxRequest,
  checked: CheckedRequest,
  { before, endpoints }: { before: Sandbox; endpoints: Sandbox['endpoints'] },
): Sandbox {
  const { names: _names, ...changed } = { ...before, endpoints };
  const gateway = gatewayNetwork(context, changed);
  const hasMoved = (gateway?.name ?? null) !== gatewayName(before);
  const files = nameFiles(context, request, checked, changed);
  // Last: what fails before has taken no port.
  const ports = hasMoved ? movePorts(context, request, checked, { changed, gateway }) : changed.ports;
  return { ...changed, gateway: gateway?.name ?? null, ports, ...files };
}

/**
 * From `from` on to `to`: its routes, its published ports, its names, its endpoints in networks. Synchronous, so that
 * no request sees it half done; when it throws, the same call from `to` to `from` restores everything.
 */
function applyChange(context: SandboxContext, request: SandboxRequest, from: Sandbox, to: Sandbox): void {
  const { kernel, names, registry } = context;
  const { containerId } = request;
  const defaultRoute = gatewayName(to);
  if (defaultRoute !== gatewayName(from)) {
    failpoint('network.connect.route');
    kernel.route(containerId, defaultRoutesOf(context, to, defaultRoute));
    kernel.unpublish(publishedPorts(from));
    kernel.publish(publishedPorts(to));
  }
  if (to.names === undefined) {
    names.close(containerId);
  }
  names.open(containerId, to);
  for (const [name, endpoint] of Object.entries(from.endpoints)) {
    const network = to.endpoints[name] === undefined ? registry.ofEndpoint(name, endpoint) : undefined;
    if (network !== undefined) {
      registry.leave(network, containerId);
    }
  }
  register(context, containerId, request.containerName, to);
}

/** The network that a sandbox routes through; of before there were several, it is the default one. */
function gatewayName({ gateway }: Sandbox): string | null {
  return gateway === undefined ? 'bridge' : gateway;
}

/** The host ports of the second sandbox that the first, which had no network to publish them, lacks. */
function portsGained(context: SandboxContext, without: Sandbox, having: Sandbox): PublishedPort[] {
  return hasPublishingGateway(context, without) ? [] : publishedPorts(having);
}

function hasPublishingGateway(context: SandboxContext, sandbox: Sandbox): boolean {
  const name = gatewayName(sandbox);
  // The endpoint may be the one that goes.
  return (
    name !== null &&
    canPublishPorts(context, context.registry.ofEndpoint(name, sandbox.endpoints[name] ?? {}))
  );
}

function nothing(): void {
  // There is nothing to undo.
}

function gatewayNetwork({ registry }: SandboxContext, { endpoints }: Sandbox): Network | undefined {
  const candidates = Object.entries(endpoints).flatMap(([name, settings]) => {
    const network = registry.ofEndpoint(name, settings);
    return network === undefined ? [] : [{ network, settings }];
  });
  return gatewayOf(candidates)?.network;
}

/**
 * The host ports stay the same as long as some network publishes them; the first such network takes those that were
 * asked for.
 */
function movePorts(
  context: SandboxContext,
  request: SandboxRequest,
  checked: CheckedRequest,
  { changed, gateway }: { changed: Sandbox; gateway: Network | undefined },
): Sandbox['ports'] {
  if (gateway === undefined || !canPublishPorts(context, gateway)) {
    return portMap(checked.ports.ports, []);
  }
  if (hasPublishingGateway(context, changed)) {
    return changed.ports;
  }
  const endpoint = changed.endpoints[gateway.name];
  const addresses = endpoint === undefined ? [] : addressesOf(endpoint).map(({ address }) => address);
  const { containerName } = ownerOf(request);
  const taken = context.ports.allocate(
    checked.ports.bindings,
    addresses,
    `${containerName} (${endpoint?.EndpointID})`,
  );
  return portMap(checked.ports.ports, taken);
}
