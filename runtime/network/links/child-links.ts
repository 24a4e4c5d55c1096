import { errnoOf, internal, invalidArgument } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { ChildAttachment, ParentSettings } from '../attachment.ts';
import { findLink, linkNamed } from './bridge.ts';
import type { LinkRemover } from './link-remover.ts';
import type { NetlinkRequest } from '../netlink/netlink.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';
import {
  deleteLink,
  getLink,
  newChildLink,
  newDummy,
  newVlan,
  readLink,
  setLinkAlias,
  setLinkName,
} from '../netlink/links.ts';
import type { Link } from '../netlink/links.ts';

const CHILDREN: ReadonlySet<string> = new Set(['macvlan', 'ipvlan']);
const ENDPOINT = /^[0-9a-f]{64}$/;

/**
 * Macvlan and ipvlan interfaces: born in their sandbox, on top of a link of the host, under a name of this instance's
 * own (`<prefix><10 digits of the endpoint's id>`). There they get the name they are to have, and the endpoint's id as
 * their alias. Parents that were made here carry `<instance>:<network id>`, as bridges do, and are swept with
 * them.
 */
export class ChildLinks {
  readonly #host: NetlinkSocket;
  readonly #namespaces: NamespaceDirectory;
  readonly #instance: string;
  readonly #prefix: string;
  readonly #remover: LinkRemover;

  constructor(deps: {
    host: NetlinkSocket;
    namespaces: NamespaceDirectory;
    instance: string;
    prefix: string;
    remover: LinkRemover;
  }) {
    this.#host = deps.host;
    this.#namespaces = deps.namespaces;
    this.#instance = deps.instance;
    this.#prefix = deps.prefix;
    this.#remover = deps.remover;
  }

  /** Index of the parent, which is made when it is missing and may be. Leaves nothing when it throws. */
  ensureParent(parent: ParentSettings): number {
    const found = findLink(this.#host, parent.name);
    if (found !== undefined) {
      return found.index;
    }
    failpoint('network.parent.make');
    try {
      this.#host.request(parent.name, [this.#maker(parent), setLinkAlias(parent.name, this.#alias(parent))]);
    } catch (error) {
      throw explained(error, parent, parent.make === 'dummy' ? 'dummy' : 'vlan');
    }
    return findLink(this.#host, parent.name)?.index ?? 0;
  }

  /** Idempotent. One that was not made here stays. */
  async removeParent(parent: ParentSettings): Promise<void> {
    failpoint('network.parent.remove');
    if (findLink(this.#host, parent.name)?.alias === this.#alias(parent)) {
      await this.#remover.removeNow(parent.name);
    }
  }

  /** Makes the interface in the namespace; `settle` is to follow. */
  attachInterface({ parent, iface }: ChildAttachment, parentIndex: number, namespaceFd: number): void {
    const { endpointId, mac, mtu } = iface;
    const { link } = parent;
    const name = this.#nameAtBirth(endpointId);
    try {
      this.#host.request(name, [
        newChildLink(link, { parent: parentIndex, mtu, peer: { name, mac, namespaceFd } }),
      ]);
    } catch (error) {
      throw explained(error, parent, link.kind);
    }
  }

  /** Gives a new interface its name, and as its alias the id of its endpoint; returns its index. */
  settle(inside: NetlinkSocket, { iface: { name, endpointId } }: ChildAttachment): number {
    const { index } = linkNamed(inside, this.#nameAtBirth(endpointId));
    failpoint('network.parent.settle');
    inside.request(name, [setLinkName(index, name), setLinkAlias(name, endpointId)]);
    return index;
  }

  /** Index of the interface of an endpoint in its sandbox. */
  index(inside: NetlinkSocket, endpointId: string): number {
    const link = childrenIn(inside).find(({ alias }) => alias === endpointId);
    if (link === undefined) {
      throw internal(`network: endpoint ${endpointId} has no interface in its sandbox`);
    }
    return link.index;
  }

  /** Takes these from a sandbox, if it has them. The namespace may be gone. */
  pull(sandboxId: string, endpointIds: readonly string[]): void {
    const names = endpointIds.map((endpointId) => this.#nameAtBirth(endpointId));
    this.#removeMatching(sandboxId, ({ alias, name }) => endpointIds.includes(alias) || names.includes(name));
  }

  /** Takes all but these from a sandbox; returns their names. What a container made itself stays. */
  keep(sandboxId: string, endpointIds: readonly string[]): string[] {
    const isNew = new RegExp(`^${this.#prefix}[0-9a-f]{10}$`);
    return this.#removeMatching(
      sandboxId,
      ({ alias, name }) => (ENDPOINT.test(alias) || isNew.test(name)) && !endpointIds.includes(alias),
    );
  }

  #removeMatching(sandboxId: string, isMeant: (link: Link) => boolean): string[] {
    try {
      using inside = this.#namespaces.open(sandboxId);
      const own = childrenIn(inside).filter(isMeant);
      if (own.length > 0) {
        failpoint('network.parent.pull');
        inside.request(
          sandboxId,
          own.map(({ name }) => deleteLink(name)),
        );
      }
      return own.map(({ name }) => name);
    } catch (error) {
      const code = errnoOf(error);
      // ENOENT, EINVAL: no namespace (any more). ENODEV: gone since we looked.
      if (code !== 'ENOENT' && code !== 'EINVAL' && code !== 'ENODEV') {
        throw error;
      }
      return [];
    }
  }

  #nameAtBirth(endpointId: string): string {
    return `${this.#prefix}${endpointId.slice(0, 10)}`;
  }

  #maker({ name, make }: ParentSettings): NetlinkRequest {
    if (make === 'dummy') {
      return newDummy(name);
    }
    const base = make === 'host' ? undefined : findLink(this.#host, make.of);
    if (make === 'host' || base === undefined) {
      throw invalidArgument(`network parent interface ${name} was not found on the host`);
    }
    return newVlan(name, { parent: base.index, id: make.vlan });
  }

  #alias({ networkId }: ParentSettings): string {
    return `${this.#instance}:${networkId}`;
  }
}

function childrenIn(inside: NetlinkSocket): Link[] {
  return inside
    .dump('interfaces', getLink())
    .map(readLink)
    .filter(({ kind }) => CHILDREN.has(kind));
}

/** An error of the kernel, in words where it means that it has no links of this kind. */
function explained(error: unknown, { name }: ParentSettings, kind: string): unknown {
  return errnoOf(error) === 'ENOTSUP'
    ? internal(`network parent ${name}: the kernel of this host has no ${kind} interfaces`, { cause: error })
    : error;
}
