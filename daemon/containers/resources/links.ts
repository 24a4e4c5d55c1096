import { writeFileSync } from 'node:fs';
import { conflict, errorText, notFound } from '../../base/errors.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { linkEnvironment } from './link-environment.ts';
import { containerFiles } from './container-files.ts';
import type { Link } from '../request/container-spec.ts';
import { liveRun } from '../state/state-facts.ts';

/**
 * Links of the default bridge: a container knows another one by a name in its /etc/hosts and by variables, and is told
 * when that one comes back with another address. A link goes with its target.
 */
interface LiveLink extends Link {
  target: Container;
  /** Undefined while the target does not run in the default bridge. */
  address: string | undefined;
}

function liveLinks({ registry }: ContainerContext, { spec }: Container): LiveLink[] {
  return (spec.links ?? []).flatMap((link) => {
    const target = registry.get(link.targetId);
    if (target === undefined) {
      return [];
    }
    const address = liveRun(target.state)?.sandbox.endpoints['bridge']?.IPAddress;
    return [{ ...link, target, address: address || undefined }];
  });
}

/** Whether it is, or at its next start will be, in the default bridge, where links are. */
function isInDefaultBridge({ spec, state }: Container): boolean {
  const endpoints = liveRun(state)?.sandbox.endpoints ?? spec.networking;
  return spec.config.NetworkDisabled !== true && Object.hasOwn(endpoints, 'bridge');
}

/** Those that are in force: of a container that is in the default bridge itself. */
function linksInForce(context: ContainerContext, container: Container): LiveLink[] {
  return isInDefaultBridge(container) ? liveLinks(context, container) : [];
}

/** Throws conflict with dockerd's text when a linked container does not run in the default bridge. */
export function refuseDeadLinks(context: ContainerContext, container: Container): void {
  for (const { target, alias, address } of linksInForce(context, container)) {
    if (!isInDefaultBridge(target)) {
      throw conflict(`Cannot link to /${target.name}, as it does not belong to the default network`);
    }
    if (address === undefined) {
      throw conflict(
        `Cannot link to a non running container: /${target.name} AS /${container.name}/${alias}`,
      );
    }
  }
}

/** The variables of all links to containers that run. */
export function linkVariables(context: ContainerContext, container: Container): string[] {
  return linksInForce(context, container).flatMap(({ target, alias, address }) =>
    address === undefined
      ? []
      : linkEnvironment({
          name: `/${container.name}/${alias}`,
          address,
          ports: Object.keys(target.spec.config.ExposedPorts ?? {}),
          environment: target.spec.config.Env ?? [],
        }),
  );
}

/** The container's /etc/hosts: that of its network, and a line for each link to a container that runs. */
export function hostsWithLinks(context: ContainerContext, container: Container, sandbox: Sandbox): string {
  const links = Object.hasOwn(sandbox.endpoints, 'bridge') ? liveLinks(context, container) : [];
  const lines = links.flatMap(({ target, alias, address }) => {
    const names = new Set([alias, target.spec.config.Hostname ?? '', target.name]);
    return address === undefined ? [] : [`${address}\t${[...names].join(' ')}\n`];
  });
  return sandbox.hosts + lines.join('');
}

/** Writes /etc/hosts of a running container with links anew, in place: it is mounted inside. */
export function rewriteLinkedHosts(context: ContainerContext, container: Container): void {
  const sandbox = liveRun(container.state)?.sandbox;
  if (sandbox?.ownerId !== container.id || (container.spec.links ?? []).length === 0) {
    return;
  }
  try {
    const { hosts } = containerFiles(context.dataRoot, container.id);
    writeFileSync(hosts, hostsWithLinks(context, container, sandbox));
  } catch (error) {
    // The container runs; its next start writes the file again.
    context.log.error(
      { container: container.id, err: error },
      `hosts file is not up to date: ${errorText(error)}`,
    );
  }
}

/**
 * After a start, or a change of networks: the new address goes to those that are linked to it, and theirs, if they came
 * meanwhile, to it.
 */
export function updateLinkedHosts(context: ContainerContext, container: Container): void {
  rewriteLinkedHosts(context, container);
  for (const parent of context.registry.linkedTo(container.id)) {
    rewriteLinkedHosts(context, parent);
  }
}

/** HostConfig.Links as inspect shows them: `/target:/parent/alias`, by the names of now. */
export function shownLinks(context: ContainerContext, container: Container): string[] | null {
  const links = liveLinks(context, container).map(
    ({ target, alias }) => `/${target.name}:/${container.name}/${alias}`,
  );
  return links.length === 0 ? null : links;
}

/** The names under which others are linked to a container, as the list shows them beside its own. */
export function linkNames({ registry }: ContainerContext, { id }: Container): string[] {
  return registry
    .linkedTo(id)
    .flatMap(({ name, spec }) =>
      (spec.links ?? []).filter(({ targetId }) => targetId === id).map(({ alias }) => `/${name}/${alias}`),
    )
    .toSorted();
}

/** Removes the link `parent/alias`, not the container. Throws not_found, or conflict for the name of a container. */
export async function removeLink(context: ContainerContext, ref: string): Promise<void> {
  const { registry, machine, mutex } = context;
  const [parentName = '', alias, ...rest] = ref.replace(/^\//, '').split('/');
  if (alias === undefined) {
    registry.find(ref);
    throw conflict('Conflict, cannot remove the default link name of the container');
  }
  const parent = registry.byName(parentName);
  await mutex.run(parent?.id ?? '', () => {
    const links = parent?.spec.links ?? [];
    const link = links.find((each) => each.alias === alias && registry.get(each.targetId) !== undefined);
    if (parent === undefined || link === undefined || rest.length > 0) {
      throw notFound(`No such container: ${ref}`);
    }
    machine.respecify(parent, { ...parent.spec, links: links.filter((each) => each !== link) }, []);
    rewriteLinkedHosts(context, parent);
  });
}
