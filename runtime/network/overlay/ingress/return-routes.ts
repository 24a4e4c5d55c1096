import { formatIp, isIpv4 } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import { errnoOf } from '../../../../daemon/base/errors.ts';
import { failpoint } from '../../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../../daemon/base/logger.ts';
import type { NamespaceDirectory } from '../../namespace-directory.ts';
import type { NetlinkRequest } from '../../netlink/netlink.ts';
import { MAIN_TABLE, getAddresses, newRule, readAddress, setTableRoutes } from '../../netlink/routes.ts';

/** The table's number in a sandbox, past those that programs in there choose for theirs. */
const TABLE = 0x62_65_72;
/** Of the rules, before those of the table main. */
const PRIORITY = { from: 3000, near: 3001, beyond: 3002 } as const;

/** What a task of this host answers with clients' addresses. */
export interface ReturnWay {
  /** This host in the network. */
  router: IpAddress;
  /** Ports at which it takes datagrams. */
  udpPorts: readonly number[];
}

interface Place {
  sandboxId: string;
  /** Ways that it has. */
  made: Set<string>;
}

/**
 * How answers of a task come back through this host where it sees clients' own addresses: its default route leads
 * elsewhere. In its sandbox, by rules of routing:
 *
 *   from <its address in the network>         a table that leads to this host
 *   from a UDP port of the task, any address  table main but for its default route, then that table
 *
 * A socket of UDP that has chosen no address gets that of the route, so the first rule alone would not find it. The
 * rules stay as long as the sandbox: without such clients they are of no account, and connections live on.
 */
export class ReturnRoutes {
  readonly #sandboxes: NamespaceDirectory;
  readonly #log: Logger;
  /** Network -> address. */
  readonly #places = new Map<string, Map<IpAddress, Place>>();

  constructor(deps: { sandboxes: NamespaceDirectory; log: Logger }) {
    this.#sandboxes = deps.sandboxes;
    this.#log = deps.log;
  }

  /** A sandbox has these addresses in a network, from now on or since an earlier daemon. */
  opened(networkId: string, sandboxId: string, addresses: readonly IpAddress[]): void {
    const places = this.#places.get(networkId) ?? new Map<IpAddress, Place>();
    addresses.forEach((address) => places.set(address, { sandboxId, made: new Set() }));
    this.#places.set(networkId, places);
  }

  closed(sandboxId: string): void {
    for (const [networkId, places] of this.#places) {
      places.forEach((place, address) => place.sandboxId === sandboxId && places.delete(address));
      if (places.size === 0) {
        this.#places.delete(networkId);
      }
    }
  }

  /** False when the task cannot answer so, which is logged. One whose sandbox is gone takes no calls anyway. */
  ensure(networkId: string, address: IpAddress, way: ReturnWay): boolean {
    const place = this.#places.get(networkId)?.get(address);
    const key = `${formatIp(way.router)} ${way.udpPorts.join(' ')}`;
    if (place === undefined || place.made.has(key)) {
      return true;
    }
    try {
      failpoint('overlay.local.routes');
      this.#make(place.sandboxId, address, way);
      place.made.add(key);
      return true;
    } catch (error) {
      if (['ENOENT', 'EINVAL'].includes(errnoOf(error) ?? '')) {
        return true;
      }
      this.#log.warn(
        { sandbox: place.sandboxId, err: error },
        'a task gets no calls with clients’ own addresses: its routes could not be set',
      );
      return false;
    }
  }

  #make(sandboxId: string, address: IpAddress, { router, udpPorts }: ReturnWay): void {
    using inside = this.#sandboxes.open(sandboxId);
    const own = inside
      .dump(sandboxId, getAddresses())
      .map(readAddress)
      .find((each) => each.address === address);
    if (own === undefined) {
      throw new Error('its interface does not have its address');
    }
    inside.request(sandboxId, setTableRoutes(TABLE, own.index, own, router));
    const family = isIpv4(address) ? 'ipv4' : 'ipv6';
    const rules: NetlinkRequest[] = [
      newRule({ from: address }, { table: TABLE, priority: PRIORITY.from }),
      ...udpPorts.flatMap((udpPort) => [
        newRule({ udpPort, family }, { table: MAIN_TABLE, priority: PRIORITY.near, suppressDefault: true }),
        newRule({ udpPort, family }, { table: TABLE, priority: PRIORITY.beyond }),
      ]),
    ];
    inside.requestAll(sandboxId, rules, THERE_ALREADY);
  }
}

const THERE_ALREADY: ReadonlySet<string> = new Set(['EEXIST']);
