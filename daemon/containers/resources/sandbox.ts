import { conflict } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { Sandbox, SandboxRequest } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { runningNamespaceOwner } from './namespace-owner.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { containerOfMode } from '../request/namespaces.ts';
import { writeFileSync } from 'node:fs';
import { hostsWithLinks } from './links.ts';
import { containerFiles } from './container-files.ts';

/** The container's network: another container's, or one of its own that the rollback closes again. */
export async function openSandbox(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<Sandbox> {
  const { networks } = context;
  const { id, name, spec } = container;
  const ownerId = containerOfMode(spec.hostConfig.NetworkMode);
  if (ownerId !== undefined) {
    refuseItself(context, container, ownerId);
    const owner = runningNamespaceOwner(context, ownerId, 'network');
    takeNamesOfOwner(context, container, owner.container);
    const { sandbox } = owner.run;
    return { ...sandbox, endpoints: {}, ports: {} };
  }
  failpoint('containers.start.sandbox');
  const sandbox = await networks.open({ ...sandboxRequest(spec), containerId: id, containerName: name });
  rollback.defer('close network', () => networks.close(id, sandbox));
  return sandbox;
}

function refuseItself({ registry }: ContainerContext, container: Container, ref: string): void {
  if (ref === container.id || registry.byName(ref) === container) {
    throw conflict('cannot join own network');
  }
}

/** With another container's network come its names. An owner created after the container tells them now. */
function takeNamesOfOwner({ machine }: ContainerContext, container: Container, owner: Container): void {
  const { spec } = container;
  const { Hostname = '', Domainname = '' } = owner.spec.config;
  if (spec.config.Hostname !== Hostname || (spec.config.Domainname ?? '') !== Domainname) {
    machine.respecify(container, { ...spec, config: { ...spec.config, Hostname, Domainname } }, []);
  }
}

/** What a specification asks of the network; `create` has it checked, `start` has it made. */
export function sandboxRequest(spec: ContainerSpec): Omit<SandboxRequest, 'containerId' | 'containerName'> {
  const { config, hostConfig, networking } = spec;
  return {
    hostname: config.Hostname ?? '',
    domainname: config.Domainname ?? '',
    networkMode: config.NetworkDisabled ? 'none' : hostConfig.NetworkMode,
    endpoints: config.NetworkDisabled ? {} : networking,
    ...(config.MacAddress && { macAddress: config.MacAddress }),
    exposedPorts: Object.keys(config.ExposedPorts ?? {}),
    portBindings: hostConfig.PortBindings ?? {},
    publishAllPorts: hostConfig.PublishAllPorts ?? false,
    dns: hostConfig.Dns ?? [],
    dnsSearch: hostConfig.DnsSearch ?? [],
    dnsOptions: hostConfig.DnsOptions ?? [],
    extraHosts: hostConfig.ExtraHosts ?? [],
    ...(spec.ofTask && { ofTask: true }),
    ...(spec.ofCommand && { ofCommand: true }),
  };
}

/**
 * Writes what is mounted over /etc/hostname, /etc/hosts and /etc/resolv.conf. In place, never by renaming: a running
 * container that shares them sees the same files. Another container's network brings that container's files.
 */
export function writeIdentityFiles(context: ContainerContext, container: Container, sandbox: Sandbox): void {
  if (sandbox.ownerId !== container.id) {
    return;
  }
  const files = containerFiles(context.dataRoot, container.id);
  writeFileSync(files.hostname, `${container.spec.config.Hostname ?? ''}\n`, { mode: 0o644 });
  writeFileSync(files.hosts, hostsWithLinks(context, container, sandbox), { mode: 0o644 });
  writeFileSync(files.resolvConf, sandbox.resolvConf, { mode: 0o644 });
}
