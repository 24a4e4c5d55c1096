import { isIpv4 } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import type { NetlinkSocket } from '../../netlink/netlink-socket.ts';
import type { Family } from '../../nftables/expressions.ts';
import { addressOfDigits } from '../balancer.ts';
import type { FlowCutter } from '../flow-cutter.ts';
import type { KeptSockets } from '../kept-sockets.ts';
import { familyOf } from '../overlay-rules.ts';
import type { MeshPort } from '../settings.ts';
import { SpreadTable } from '../spread-table.ts';
import { addressOfTarget, localForm, meshForm, meshTarget } from './mesh-rules.ts';
import type { ReturnRoutes } from './return-routes.ts';

/** Ports by the key of their spread. */
export type KeyedPorts = Iterable<readonly [string, MeshPort]>;

type Spreads = Map<string, readonly string[]>;

interface Deps {
  networkId: string;
  /** This host's addresses in the network. */
  nodes: readonly IpAddress[];
  sockets: KeptSockets;
  flows: Pick<FlowCutter, 'keep' | 'cut'>;
  returns: Pick<ReturnRoutes, 'ensure'>;
  log: Logger;
}

/**
 * The tables of published ports in the ingress network's namespace: of each family one with all tasks of each port, and
 * before it, once a service wants that, one with those of this host.
 */
export class MeshTables {
  readonly #deps: Deps;
  readonly #all: readonly (readonly [Family, SpreadTable])[];
  readonly #local: readonly (readonly [Family, SpreadTable])[];
  /** Of which there is a table of local tasks. */
  readonly #hasLocal = new Set<Family>();
  /** Ports of which a local task is left out, because its answers would not come back: looked at again. */
  readonly #lame = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
    const { networkId, nodes, log } = deps;
    const families: Family[] = ['ip', ...(nodes.some((node) => !isIpv4(node)) ? ['ip6' as const] : [])];
    this.#all = families.map((family) => {
      const object = `published ports of ingress network ${networkId}, ${family}`;
      return [family, new SpreadTable({ form: meshForm(family, this.#router(family)), object, log })];
    });
    this.#local = families.map((family) => {
      const object = `local tasks of ingress network ${networkId}, ${family}`;
      return [family, new SpreadTable({ form: localForm(family), object, log })];
    });
  }

  /** Of all ports in there, once `mend` has looked. */
  get keys(): string[] {
    return this.#all[0]?.[1].keys ?? [];
  }

  /** Makes the tables what they should be; undefined = what an earlier daemon published stays. */
  mend(asked: ReadonlyMap<string, MeshPort> | undefined): void {
    const netfilter = this.#netfilter();
    for (const [family, table] of this.#all) {
      if (asked === undefined) {
        table.open(netfilter);
      } else {
        this.#cutUdp(table.mend(netfilter, spreadsOf(family, asked)).lost);
      }
    }
    for (const [family, table] of this.#local) {
      const wanted = this.#localOf(family, asked ?? []);
      if (wanted.size > 0 || table.isThere(netfilter)) {
        this.#hasLocal.add(family);
        if (asked === undefined) {
          table.open(netfilter);
        } else {
          this.#cutUdp(table.mend(netfilter, wanted).lost);
        }
      }
    }
  }

  /** Ports that are new, other than they were, or to be tried again. */
  changed(ports: KeyedPorts, before: ReadonlyMap<string, MeshPort> | undefined): [string, MeshPort][] {
    return [...ports]
      .filter(([key, port]) => this.#lame.has(key) || !isSamePort(before?.get(key), port))
      .map(([key, port]) => [key, port]);
  }

  /** `wanted`: keys of all ports from now on. Nothing is done where nothing is different. */
  change(changed: readonly (readonly [string, MeshPort])[], wanted: { has(key: string): boolean }): void {
    const goneOf = (table: SpreadTable): string[] => table.keys.filter((key) => !wanted.has(key));
    if (
      changed.length === 0 &&
      [...this.#all, ...this.#local].every(([, table]) => goneOf(table).length === 0)
    ) {
      return;
    }
    const { networkId, flows } = this.#deps;
    const netfilter = this.#netfilter();
    flows.keep(networkId, [...new Set(changed.flatMap(([, { backends }]) => backends))]);
    for (const [family, table] of this.#all) {
      const none = goneOf(table).map((key) => [key, undefined] as const);
      this.#cutUdp(table.change(netfilter, new Map([...none, ...spreadsOf(family, changed)])));
    }
    for (const [family, table] of this.#local) {
      const spreads = this.#localOf(family, changed);
      if (spreads.size > 0 || this.#hasLocal.has(family)) {
        this.#hasLocal.add(family);
        this.#changeLocal(netfilter, table, { changed, gone: goneOf(table), spreads });
      }
    }
  }

  #changeLocal(
    netfilter: NetlinkSocket,
    table: SpreadTable,
    { changed, gone, spreads }: { changed: KeyedPorts; gone: readonly string[]; spreads: Spreads },
  ): void {
    const before = new Set(table.keys);
    const keys = [...changed].map(([key]) => key);
    const none = [...gone, ...keys.filter((key) => !spreads.has(key))];
    const wanted = new Map([...none.map((key) => [key, undefined] as const), ...spreads]);
    this.#cutUdp(table.change(netfilter, wanted));
    // Clients that go on sending to tasks of other hosts come here from now on.
    const fresh = [...changed].filter(([key]) => spreads.has(key) && !before.has(key));
    const { networkId, flows } = this.#deps;
    flows.cut(
      networkId,
      fresh.flatMap(([, { backends }]) => backends),
      'udp',
    );
  }

  /** Tasks of this host that can answer clients themselves, of those ports that have some. */
  #localOf(family: Family, ports: KeyedPorts): Spreads {
    const { networkId, returns } = this.#deps;
    const router = this.#router(family);
    const spreads: Spreads = new Map();
    for (const [key, { protocol, target, local = [] }] of router === undefined ? [] : ports) {
      const own = local.filter((each) => familyOf(each) === family);
      const way = { router: router ?? 0, udpPorts: protocol === 'udp' ? [target] : [] };
      const able = own.filter((address) => returns.ensure(networkId, address, way));
      if (able.length > 0) {
        spreads.set(
          key,
          able.map((each) => meshTarget(each, target)),
        );
      }
      if (able.length < own.length) {
        this.#lame.add(key);
      } else if (own.length > 0 || local.length === 0) {
        this.#lame.delete(key);
      }
    }
    return spreads;
  }

  #router(family: Family): IpAddress | undefined {
    return this.#deps.nodes.find((address) => familyOf(address) === family);
  }

  #netfilter(): NetlinkSocket {
    return this.#deps.sockets.of(this.#deps.networkId);
  }

  #cutUdp(lost: readonly string[]): void {
    const { networkId, flows } = this.#deps;
    flows.cut(networkId, lost.map(addressOfTarget).map(addressOfDigits), 'udp');
  }
}

function spreadsOf(family: Family, ports: KeyedPorts): Spreads {
  return new Map(
    [...ports].map(([key, { target, backends }]) => [
      key,
      backends.filter((each) => familyOf(each) === family).map((each) => meshTarget(each, target)),
    ]),
  );
}

function isSamePort(one: MeshPort | undefined, other: MeshPort): boolean {
  return (
    one === other ||
    (one?.target === other.target &&
      areSame(one.backends, other.backends) &&
      areSame(one.local ?? [], other.local ?? []))
  );
}

function areSame(one: readonly IpAddress[], other: readonly IpAddress[]): boolean {
  return one.length === other.length && one.every((address, place) => address === other[place]);
}
