import type { KeptSandbox } from '../../../runtime/network/attachment.ts';
import type { NetworkSandboxes } from '../../containers/ports.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { measured } from '../../base/measured.ts';
import { Turns } from '../../base/concurrency/turns.ts';
import { connectSandbox, disconnectSandbox, renameSandbox } from './change-sandbox.ts';
import type { Disconnected } from './change-sandbox.ts';
import { releaseAddresses } from './endpoints.ts';
import { openSandbox } from './open-sandbox.ts';
import { publishedPorts } from './port-map.ts';
import { isParentKind } from '../drivers/parent-options.ts';
import { needsOutlet } from './check-request.ts';
import type { CheckedRequest } from './check-request.ts';
import { OUTLET } from './outlet.ts';
import { check, driverOf, isDefaultName, register, defaultRoutesOf } from './sandbox-context.ts';
import type { SandboxContext } from './sandbox-context.ts';
import type { LiveSandbox, Sandbox, SandboxRequest } from './sandbox.ts';
import { addressesOf } from './stored-endpoint.ts';

/** Containers' networks: allocates the namespace, addresses, names and ports of each, and releases them. */
export class Sandboxes implements NetworkSandboxes {
  readonly #context: SandboxContext;

  constructor(deps: Omit<SandboxContext, 'live' | 'turns'>) {
    this.#context = { ...deps, live: new Map(), turns: new Turns() };
  }

  find(ref: string): { id: string; name: string } | undefined {
    const name = ref === 'default' ? 'bridge' : ref;
    // Without a default network containers that ask for it have none, but the name still means it.
    return (
      this.#context.registry.lookUp(name) ??
      (isDefaultName(ref) ? { id: '', name } : this.#context.attachments.find(ref))
    );
  }

  driverOf(networkName: string): string {
    return this.#context.registry.lookUp(networkName)?.driver ?? 'bridge';
  }

  validate(request: Omit<SandboxRequest, 'containerId' | 'containerName'>): void {
    check(this.#context, request, { mayComeLater: true });
  }

  open(request: SandboxRequest): Promise<Sandbox> {
    return measured('network', 'allocate', () => this.#open(request));
  }

  async #open(asked: SandboxRequest): Promise<Sandbox> {
    const { attachments, live, log } = this.#context;
    if (live.has(asked.containerId)) {
      log.error({ container: asked.containerId }, 'sandbox was still open; closing it first');
      await this.close(asked.containerId, undefined);
    }
    const { request, names } = await attachments.enter(asked);
    try {
      const sandbox = await this.#openWith(request, names);
      register(this.#context, request.containerId, request.containerName, sandbox);
      return sandbox;
    } catch (error) {
      attachments.leave(request.containerId, names);
      throw error;
    }
  }

  async #openWith(request: SandboxRequest, attached: string[]): Promise<Sandbox> {
    const checked = await this.#checked(request);
    const sandbox = await openSandbox(this.#context, request, checked);
    return attached.length === 0 ? sandbox : { ...sandbox, attached };
  }

  connect(live: Sandbox, request: SandboxRequest, networkName: string): Promise<Sandbox> {
    return measured('network', 'connect', () => this.#connect(live, request, networkName));
  }

  async #connect(live: Sandbox, asked: SandboxRequest, ref: string): Promise<Sandbox> {
    const { attachments, registry } = this.#context;
    const known = registry.lookUp(ref);
    // One that it is in already is refused below, and it stays in it.
    const isIn = known !== undefined && live.endpoints[known.name] !== undefined;
    const { request, names } = await attachments.enter(asked, isIn ? [] : [ref]);
    try {
      // Known by its name from here on, by which the swarm may have found it.
      const networkName = registry.find(ref).name;
      const attached = [...(live.attached ?? []), ...names];
      const before = attached.length === 0 ? live : { ...live, attached };
      return await this.#connectWith(before, request, networkName);
    } catch (error) {
      attachments.leave(request.containerId, names);
      throw error;
    }
  }

  async #connectWith(live: Sandbox, request: SandboxRequest, networkName: string): Promise<Sandbox> {
    const checked = await this.#checked(request);
    const connected = await connectSandbox(this.#context, live, request, networkName);
    if (!lacksOutlet(checked, connected)) {
      return connected;
    }
    try {
      return await connectSandbox(this.#context, connected, request, OUTLET);
    } catch (error) {
      await disconnectSandbox(this.#context, connected, request, networkName).finish();
      throw error;
    }
  }

  /** With the last network that leads elsewhere the outlet comes, with the last one of the swarm it goes. */
  async disconnect(
    live: Sandbox,
    request: SandboxRequest,
    networkName: string,
  ): ReturnType<NetworkSandboxes['disconnect']> {
    const context = this.#context;
    const checked = await this.#checked(request);
    const before = lacksOutlet(checked, live) ? await connectSandbox(context, live, request, OUTLET) : live;
    const added = before === live ? undefined : OUTLET;
    const first = disconnectSandbox(context, before, request, networkName);
    const hasUseless = before.outlet !== undefined && !checked.endpoints.some(({ isOutlet }) => isOutlet);
    const all = hasUseless
      ? await both(first, () => disconnectSandbox(context, first.sandbox, request, OUTLET))
      : first;
    const { attached, ...sandbox } = all.sandbox;
    const rest = attached?.filter((name) => name !== networkName) ?? [];
    return {
      sandbox: rest.length === 0 ? sandbox : { ...sandbox, attached: rest },
      finish: async () => {
        await all.finish();
        context.attachments.leave(request.containerId, [networkName]);
      },
      undo: async () => {
        await all.undo();
        if (added !== undefined) {
          await disconnectSandbox(context, before, request, added).finish();
        }
      },
    };
  }

  renamed(live: Sandbox, request: SandboxRequest): Sandbox {
    const sandbox = renameSandbox(this.#context, live, request);
    this.#context.attachments.renamed(request.containerId, sandbox);
    return sandbox;
  }

  close(containerId: string, sandbox: Sandbox | undefined): Promise<void> {
    return measured('network', 'release', () => this.#close(containerId, sandbox));
  }

  async #close(containerId: string, sandbox: Sandbox | undefined): Promise<void> {
    const { live, kernel, registry, names, turns, ports: allocator, attachments } = this.#context;
    const known = live.get(containerId);
    if (sandbox !== undefined && sandbox.ownerId !== containerId) {
      return;
    }
    const endpoints = Object.entries((known ?? sandbox)?.endpoints ?? {});
    // Only of a sandbox that is known to be open: the ports and the addresses of one that a restart found dead
    // are another container's by now.
    const ports = known === undefined ? [] : publishedPorts(known);
    names.close(containerId);
    failpoint('network.close.firewall');
    await turns.inPieces(ports, limits.portsPerTurn, (piece) => kernel.unpublish(piece));
    const attached = endpoints.filter(([, endpoint]) => addressesOf(endpoint).length > 0);
    kernel.close(
      containerId,
      attached.map(([, { EndpointID = '' }]) => EndpointID),
    );
    failpoint('network.close.port');
    await turns.inPieces(ports, limits.portsPerTurn, (piece) => allocator.release(piece));
    failpoint('network.close.address');
    for (const [name, endpoint] of known === undefined ? [] : endpoints) {
      const network = registry.ofEndpoint(name, endpoint);
      if (network !== undefined) {
        releaseAddresses(network, addressesOf(endpoint));
        registry.leave(network, containerId);
      }
    }
    // After a restart another container may have the addresses of a dead one.
    const left = endpoints.flatMap(([name, endpoint]) =>
      addressesOf(endpoint)
        .map(({ address }) => address)
        .filter((address) => registry.ofEndpoint(name, endpoint)?.addresses.has(address) !== true),
    );
    kernel.forgetFlows(left);
    live.delete(containerId);
    attachments.leave(containerId, (known ?? sandbox)?.attached ?? []);
  }

  async restore(live: readonly LiveSandbox[]): Promise<void> {
    const { kernel, registry, defaultNetwork, names, ports: allocator, overlays } = this.#context;
    await overlays.load();
    const owners = live.filter(({ containerId, sandbox }) => sandbox.ownerId === containerId);
    const ports = owners.flatMap(({ sandbox }) => publishedPorts(sandbox));
    defaultNetwork.choosePool(owners.map(({ sandbox }) => sandbox));
    const bridges = defaultNetwork.bridges();
    failpoint('network.restore.firewall');
    kernel.prepare(bridges, ports);
    await defaultNetwork.removeUnused();
    allocator.retake(ports);
    for (const { containerId, containerName, sandbox } of owners) {
      register(this.#context, containerId, containerName, sandbox);
      this.#context.attachments.restore(containerId, sandbox);
      this.#mendRoutes(containerId, sandbox);
      failpoint('network.restore.names');
      names.reopen(containerId, sandbox);
    }
    const hasChildren = registry.all().some(({ driver }) => isParentKind(driver));
    await kernel.sweep(
      registry.all().map(({ id }) => id),
      bridges,
      owners
        .filter(({ sandbox }) => sandbox.netnsPath !== null)
        .map(({ containerId, sandbox }) => ({
          id: containerId,
          ...this.#attached(sandbox),
          children: hasChildren ? endpointIds(sandbox) : undefined,
        })),
    );
    // After containers that run have their ports again, and before others are started.
    await overlays.start();
  }

  /** With the outlet where it is needed. */
  async #checked(request: SandboxRequest): Promise<CheckedRequest> {
    const checked = check(this.#context, request);
    if (!needsOutlet(checked.endpoints)) {
      return checked;
    }
    await this.#context.outlet.ensure();
    return check(this.#context, request);
  }

  /** A daemon that died while it connected may have set other routes than the row says. */
  #mendRoutes(containerId: string, sandbox: Sandbox): void {
    const { kernel, log } = this.#context;
    if (sandbox.netnsPath === null || sandbox.gateway === undefined || sandbox.gateway === null) {
      return;
    }
    try {
      kernel.route(containerId, defaultRoutesOf(this.#context, sandbox, sandbox.gateway));
    } catch (error) {
      log.error({ container: containerId, err: error }, 'routes of a running container could not be mended');
    }
  }

  /** The interfaces of a stored sandbox, by network. */
  #attached(sandbox: Sandbox): Pick<KeptSandbox, 'endpoints' | 'overlays'> {
    const attachments = Object.entries(sandbox.endpoints).flatMap(([name, endpoint]) => {
      const network = this.#context.registry.ofEndpoint(name, endpoint);
      if (network === undefined || addressesOf(endpoint).length === 0) {
        return [];
      }
      const endpointId = endpoint.EndpointID ?? '';
      const iface = {
        endpointId,
        name: '',
        addresses: [],
        linkLocal: [],
        settings: [],
        mac: Buffer.alloc(6),
        mtu: 0,
      };
      const attachment = driverOf(this.#context, network).attachment(network, iface);
      return [{ endpointId, addresses: addressesOf(endpoint).map(({ address }) => address), attachment }];
    });
    return {
      endpoints: attachments.flatMap(({ endpointId, attachment }) =>
        'bridge' in attachment ? [{ endpointId, bridge: attachment.bridge }] : [],
      ),
      overlays: attachments.flatMap(({ endpointId, addresses, attachment }) =>
        'overlay' in attachment ? [{ endpointId, networkId: attachment.overlay.networkId, addresses }] : [],
      ),
    };
  }
}

function lacksOutlet({ endpoints }: CheckedRequest, sandbox: Sandbox): boolean {
  return endpoints.some(({ isOutlet }) => isOutlet) && sandbox.endpoints[OUTLET] === undefined;
}

/** One change after the other; both or none. */
async function both(first: Disconnected, make: () => Disconnected): Promise<Disconnected> {
  try {
    const second = make();
    return {
      sandbox: second.sandbox,
      undo: async () => {
        await second.undo();
        await first.undo();
      },
      finish: async () => {
        await first.finish();
        await second.finish();
      },
    };
  } catch (error) {
    await first.undo();
    throw error;
  }
}

function endpointIds({ endpoints }: Sandbox): string[] {
  return Object.values(endpoints).map(({ EndpointID }) => EndpointID ?? '');
}
