import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import { EngineError, conflict, invalidArgument, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import { Rollback } from '../../base/rollback.ts';
import type { SandboxRequest } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { connectedEndpoint } from '../views/endpoint-view.ts';
import { endpointEvent } from '../state/events.ts';
import { writeIdentityFiles, sandboxRequest } from '../resources/sandbox.ts';
import { updateLinkedHosts } from '../resources/links.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { containerOfMode } from '../request/namespaces.ts';
import { normaliseEndpoint } from '../request/networking.ts';
import { shownEndpoints } from '../state/shown-endpoints.ts';
import { liveRun } from '../state/state-facts.ts';

/** Puts a container into a network: at once when it runs, and at each start from now on. */
export async function connectNetwork(
  context: ContainerContext,
  networkRef: string,
  containerRef: string,
  endpoint: EndpointSettings,
): Promise<void> {
  const { registry, networks, mutex, machine, clock, log } = context;
  refuseEmptyRef(containerRef);
  const container = registry.find(containerRef);
  await mutex.run(container.id, async () => {
    refuseFixedNetwork(context, container);
    const network = findNetwork(context, networkRef);
    const wanted = connectedEndpoint(container, network.name, normaliseEndpoint(endpoint));
    const spec = withEndpoint(container.spec, network.name, wanted);
    const request = requestOf(container, spec);
    networks.validate(request);
    const live = liveRun(container.state)?.sandbox;
    if (live === undefined) {
      machine.rewire(container, spec, undefined, []);
      return;
    }
    await using rollback = new Rollback(log, { container: container.id, network: network.name });
    const sandbox = await networks.connect(live, request, network.name);
    rollback.defer('disconnect', async () => {
      const undone = await networks.disconnect(sandbox, requestOf(container, container.spec), network.name);
      await persistently(clock, undone.finish);
    });
    failpoint('containers.connect.commit');
    machine.rewire(container, spec, sandbox, [
      endpointEvent(
        networks,
        container,
        { name: network.name, endpoint: sandbox.endpoints[network.name] },
        'connect',
      ),
    ]);
    rollback.commit();
    writeIdentityFiles(context, container, sandbox);
    updateLinkedHosts(context, container);
  });
}

/** Takes a container out of a network; `force` also when the network itself is gone. */
export async function disconnectNetwork(
  context: ContainerContext,
  networkRef: string,
  containerRef: string,
  options: { force: boolean },
): Promise<void> {
  const { registry, networks, mutex, machine, clock, log } = context;
  refuseEmptyRef(containerRef);
  const container = registry.find(containerRef);
  await mutex.run(container.id, async () => {
    refuseFixedNetwork(context, container);
    const found = networks.find(networkRef);
    if (found === undefined && !options.force) {
      throw notFound(`network ${networkRef} not found`);
    }
    const name = found?.name ?? networkRef;
    const live = liveRun(container.state)?.sandbox;
    const endpoints = live === undefined ? container.spec.networking : shownEndpoints(live);
    if (!Object.hasOwn(endpoints, name)) {
      throw new EngineError('forbidden', `container ${container.id} is not connected to the network ${name}`);
    }
    const spec = withoutEndpoint(container.spec, name);
    if (live === undefined) {
      machine.rewire(container, spec, undefined, []);
      return;
    }
    await using rollback = new Rollback(log, { container: container.id, network: name });
    const { sandbox, undo, finish } = await networks.disconnect(live, requestOf(container, spec), name);
    rollback.defer('connect', () => persistently(clock, async () => undo()));
    failpoint('containers.disconnect.commit');
    // Before its interface goes: a daemon that dies in between finds an interface without an endpoint, and removes it.
    machine.rewire(container, spec, sandbox, [
      endpointEvent(networks, container, { name, endpoint: live.endpoints[name] }, 'disconnect'),
    ]);
    rollback.commit();
    try {
      await persistently(clock, finish);
    } catch (error) {
      log.error({ container: container.id, network: name, err: error }, 'an interface was left behind');
    }
    writeIdentityFiles(context, container, sandbox);
    updateLinkedHosts(context, container);
  });
}

/** After a rename: the networks know the container by its new name. Under its mutex. */
export function updateNetworkNames(context: ContainerContext, container: Container): void {
  const live = liveRun(container.state)?.sandbox;
  if (live?.names !== undefined && live.ownerId === container.id) {
    const sandbox = context.networks.renamed(live, requestOf(container, container.spec));
    context.machine.rewire(container, container.spec, sandbox, []);
  }
}

function requestOf({ id, name }: Container, spec: ContainerSpec): SandboxRequest {
  return { ...sandboxRequest(spec), containerId: id, containerName: name };
}

function refuseEmptyRef(containerRef: string): void {
  if (containerRef === '') {
    throw invalidArgument('invalid name or ID supplied: ""');
  }
}

function findNetwork({ networks }: ContainerContext, ref: string): { id: string; name: string } {
  const network = networks.find(ref);
  if (network === undefined) {
    throw notFound(`network ${ref} not found`);
  }
  return network;
}

function withEndpoint(spec: ContainerSpec, name: string, endpoint: EndpointSettings): ContainerSpec {
  return { ...spec, networking: { ...spec.networking, [name]: endpoint } };
}

function withoutEndpoint(spec: ContainerSpec, name: string): ContainerSpec {
  const networking = { ...spec.networking };
  delete networking[name];
  return { ...spec, networking };
}

function refuseFixedNetwork({ registry }: ContainerContext, container: Container): void {
  const { id, state, spec } = container;
  if (registry.get(id) !== container || state.status === 'removing' || state.status === 'dead') {
    throw conflict(
      `Container ${id} is marked for removal and cannot be connected or disconnected to the network`,
    );
  }
  const mode = spec.hostConfig.NetworkMode;
  if (containerOfMode(mode) !== undefined || mode === 'host' || spec.config.NetworkDisabled === true) {
    throw invalidArgument(
      'container sharing network namespace with another container or host cannot be connected to any other network',
    );
  }
}
