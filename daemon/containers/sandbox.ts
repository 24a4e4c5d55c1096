import { readFile } from 'node:fs/promises';
import { conflict, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import type { Rollback } from '../base/rollback.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import type { Sandbox, SandboxRequest } from './ports.ts';
import type { ContainerSpec } from './spec/container-spec.ts';
import { containerOfMode } from './spec/namespaces.ts';
import { liveRun } from './state-facts.ts';

/** The container's network: another container's, the host's, or one of its own that the rollback closes again. */
export async function openSandbox(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<Sandbox> {
  const { networks } = context;
  const { id, name, spec } = container;
  const ownerId = containerOfMode(spec.hostConfig.NetworkMode);
  if (ownerId !== undefined) {
    return joinSandbox(context, ownerId);
  }
  if (spec.hostConfig.NetworkMode === 'host') {
    return hostSandbox(container);
  }
  failpoint('containers.start.sandbox');
  const sandbox = await networks.open({ ...sandboxRequest(spec), containerId: id, containerName: name });
  rollback.defer('close network', () => networks.close(id, sandbox));
  return sandbox;
}

/** What a specification asks of the network; `create` has it checked, `start` has it made. */
export function sandboxRequest(spec: ContainerSpec): Omit<SandboxRequest, 'containerId' | 'containerName'> {
  const { config, hostConfig, networking } = spec;
  const macAddress = config.MacAddress || Object.values(networking)[0]?.MacAddress;
  return {
    hostname: config.Hostname ?? '',
    domainname: config.Domainname ?? '',
    networkMode: config.NetworkDisabled ? 'none' : hostConfig.NetworkMode,
    endpoints: networking,
    ...(macAddress && { macAddress }),
    exposedPorts: Object.keys(config.ExposedPorts ?? {}),
    portBindings: hostConfig.PortBindings ?? {},
    publishAllPorts: hostConfig.PublishAllPorts ?? false,
    dns: hostConfig.Dns ?? [],
    dnsSearch: hostConfig.DnsSearch ?? [],
    dnsOptions: hostConfig.DnsOptions ?? [],
    extraHosts: hostConfig.ExtraHosts ?? [],
  };
}

/** True when the network engine has nothing to check or make: it is the host's or another container's. */
export function hasForeignNetwork(spec: ContainerSpec): boolean {
  const mode = spec.hostConfig.NetworkMode;
  return mode === 'host' || containerOfMode(mode) !== undefined;
}

function joinSandbox(context: ContainerContext, ownerId: string): Sandbox {
  const owner = context.registry.get(ownerId);
  if (owner === undefined) {
    throw notFound(`No such container: ${ownerId}`);
  }
  const live = liveRun(owner.state);
  if (live === undefined) {
    throw conflict(`cannot join network of a non running container: ${ownerId}`);
  }
  return { ...live.sandbox, endpoints: {}, ports: {} };
}

/** The host's namespace, its name resolution, and what the container adds to it. */
async function hostSandbox({ id, spec }: Container): Promise<Sandbox> {
  const { ExtraHosts, Dns, DnsSearch, DnsOptions } = spec.hostConfig;
  const [hosts, resolvConf] = await Promise.all([
    readFile('/etc/hosts', 'utf8'),
    readFile('/etc/resolv.conf', 'utf8'),
  ]);
  const extra = (ExtraHosts ?? []).map((entry) => {
    const colon = entry.indexOf(':');
    const address = entry.slice(colon + 1);
    // The host's gateway to itself is its loopback.
    return `${address === 'host-gateway' ? '127.0.0.1' : address}\t${entry.slice(0, colon)}\n`;
  });
  return {
    netnsPath: null,
    ownerId: id,
    endpoints: { host: spec.networking['host'] ?? {} },
    ports: {},
    hosts: hosts + extra.join(''),
    resolvConf: withResolver(resolvConf, Dns ?? [], DnsSearch ?? [], DnsOptions ?? []),
  };
}

/** The host's resolv.conf(5) with the lines that the container replaces. */
function withResolver(
  hostConf: string,
  dns: readonly string[],
  search: readonly string[],
  options: readonly string[],
): string {
  const replaced = new Map<string, string[]>();
  if (dns.length > 0) {
    replaced.set(
      'nameserver',
      dns.map((address) => `nameserver ${address}`),
    );
  }
  if (search.length > 0) {
    // `.` alone means: no search list.
    replaced.set('search', search.includes('.') ? [] : [`search ${search.join(' ')}`]);
  }
  if (options.length > 0) {
    replaced.set('options', [`options ${options.join(' ')}`]);
  }
  if (replaced.size === 0) {
    return hostConf;
  }
  const kept = hostConf.split('\n').filter((line) => !replaced.has(line.trim().split(/\s+/)[0] ?? ''));
  return [...kept.filter((line) => line !== ''), ...[...replaced.values()].flat(), ''].join('\n');
}
