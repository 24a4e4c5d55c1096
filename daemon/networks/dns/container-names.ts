import type { Upstream } from '../../../runtime/network/dns/dns-sockets.ts';
import { parseIp, isIpv4 } from '../../base/addresses/ip.ts';
import type { Logger } from '../../base/logger.ts';
import type { HostFiles } from '../files/host-files.ts';
import { isUserDefined } from '../network.ts';
import type { NetworkIndex } from '../network-index.ts';
import { EMBEDDED_SERVER, PUBLIC_NAMESERVERS } from '../files/resolv.ts';
import type { NameListener } from '../ports.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { VisibleNetwork } from './local-names.ts';
import type { NameServer } from './name-server.ts';

/** A container whose questions are answered. */
interface Listening {
  listener: Disposable;
  networks: VisibleNetwork[];
  sandbox: Sandbox;
}

/** The name service of each container that is in a user-defined network. */
export class ContainerNames {
  readonly #listener: NameListener;
  readonly #server: NameServer;
  readonly #registry: NetworkIndex;
  readonly #files: HostFiles;
  readonly #log: Logger;
  readonly #listening = new Map<string, Listening>();

  constructor(deps: {
    listener: NameListener;
    server: NameServer;
    registry: NetworkIndex;
    files: HostFiles;
    log: Logger;
  }) {
    this.#listener = deps.listener;
    this.#server = deps.server;
    this.#registry = deps.registry;
    this.#files = deps.files;
    this.#log = deps.log;
  }

  /** Listens in the sandbox, or goes on listening with its networks of now. Does nothing for one without names. */
  open(containerId: string, sandbox: Sandbox): void {
    if (sandbox.names === undefined) {
      return;
    }
    const networks = this.#visible(sandbox);
    const known = this.#listening.get(containerId);
    if (known !== undefined) {
      known.networks = networks;
      known.sandbox = sandbox;
      return;
    }
    const listener = this.#listener.listen(containerId, (message, protocol, reply) => {
      const now = this.#listening.get(containerId);
      if (now !== undefined) {
        const scope = {
          networks: now.networks,
          upstreams: () => this.#upstreams(containerId, now.sandbox),
        };
        this.#server.answer({ containerId, message, protocol }, scope, reply);
      }
    });
    this.#listening.set(containerId, { listener, networks, sandbox });
  }

  /** Idempotent. */
  close(containerId: string): void {
    this.#listening.get(containerId)?.listener[Symbol.dispose]();
    this.#listening.delete(containerId);
  }

  /** After a restart of the daemon. A sandbox whose sockets cannot be opened is logged; its container runs on. */
  reopen(containerId: string, sandbox: Sandbox): void {
    try {
      this.open(containerId, sandbox);
    } catch (error) {
      this.#log.error({ container: containerId, err: error }, 'a container has no name server any more');
    }
  }

  #visible({ endpoints }: Sandbox): VisibleNetwork[] {
    return Object.entries(endpoints)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, endpoint]) => {
        const network = this.#registry.ofEndpoint(name, endpoint);
        return network === undefined || !isUserDefined(network)
          ? []
          : [{ network, links: linksOf(endpoint.Links ?? []) }];
      });
  }

  /** Asked at each forwarded question: the host's servers change. */
  #upstreams(containerId: string, sandbox: Sandbox): Upstream[] {
    if (sandbox.gateway === null) {
      return [];
    }
    const asked = sandbox.names?.servers ?? [];
    const hasIpv6 = Object.values(sandbox.endpoints).some(({ GlobalIPv6Address }) => GlobalIPv6Address);
    const inside = (address: string): Upstream => ({ address, from: containerId });
    if (asked.length > 0) {
      // Without the engine's own address, which would lead each question back to the engine.
      return asked.filter((address) => address !== EMBEDDED_SERVER).map(inside);
    }
    const host = this.#files.nameServers();
    return (host.length > 0 ? host : PUBLIC_NAMESERVERS).map((address) =>
      isReachable(address, hasIpv6) ? inside(address) : { address, from: null },
    );
  }
}

/** From within a container; the host's loopback is not, nor is IPv6 where the container has none. */
function isReachable(address: string, hasIpv6: boolean): boolean {
  const parsed = parseIp(address);
  return parsed !== undefined && (isIpv4(parsed) ? !address.startsWith('127.') : hasIpv6 && parsed !== 1n);
}

/** `web:db` lets the container call `web` by `db`; `web` alone changes nothing. */
function linksOf(links: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    links.map((link) => {
      const [name = '', alias = name] = link.toLowerCase().replace(/^\//, '').split(':');
      return [alias.split('/').at(-1) ?? alias, name];
    }),
  );
}
