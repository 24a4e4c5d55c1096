import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { PortMap } from '../../../api/types/host-config.ts';

/** What a container asks of its network. */
export interface SandboxRequest {
  containerId: string;
  containerName: string;
  hostname: string;
  domainname: string;
  /** `none`, `host`, `bridge`/`default`, or name or id of a network; `container:` is resolved before. */
  networkMode: string;
  endpoints: Record<string, EndpointSettings>;
  macAddress?: string;
  /** `80/tcp` of ExposedPorts, and the bindings asked for. */
  exposedPorts: string[];
  portBindings: PortMap;
  publishAllPorts: boolean;
  dns: string[];
  dnsSearch: string[];
  dnsOptions: string[];
  extraHosts: string[];
  /** A task of the swarm's: its managers gave it its addresses already. */
  ofTask?: boolean;
  /** A command of a build: its /etc/hosts names the container itself and no address that it has. */
  ofCommand?: boolean;
}

/** A container's network as it is in the kernel; stored with the running state so that a restart can take it over. */
export interface Sandbox {
  /** Path of the network namespace; null = the host's. */
  netnsPath: string | null;
  /** Of the container that made it (another's with `container:`). */
  ownerId: string;
  endpoints: Record<string, EndpointSettings>;
  /** Name of the network through which it reaches other hosts and is reached; undefined = `bridge`, null = none. */
  gateway?: string | null;
  /** Name of the network among `endpoints` that nobody asked for and that is not shown: its way to other hosts. */
  outlet?: string;
  /** Names of networks of the swarm that it was let into; a task is in them by itself. */
  attached?: string[];
  /**
   * The container uses the engine's name server, which forwards to these servers (none = the host's); undefined = it
   * does not.
   */
  names?: { servers: string[] };
  ports: PortMap;
  /** Contents of /etc/hosts and /etc/resolv.conf. */
  hosts: string;
  resolvConf: string;
}

/** A container whose sandbox a restart of the daemon finds open. */
export interface LiveSandbox {
  containerId: string;
  containerName: string;
  sandbox: Sandbox;
}
