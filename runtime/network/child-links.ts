import { errnoOf, internal, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { ChildAttachment, ParentSettings } from './attachment.ts';
import { findLink } from './bridge.ts';
import type { LinkRemover } from './link-remover.ts';
import type { NetlinkRequest } from './netlink.ts';
import type { NetlinkSocket } from './netlink-socket.ts';
import type { NamespaceDirectory } from './netns.ts';
import * as rtnetlink from './rtnetlink.ts';

const CHILDREN: ReadonlySet<string> = new Set(['macvlan', 'ipvlan']);

/**
 * Macvlan and ipvlan interfaces: born in their sandbox, on top of a link of the host. There they carry the endpoint's
 * id as their alias. Parents that were made here carry `<instance>:<network id>`, as bridges do, and are swept with
 * them.
 */
export class ChildLinks {
  readonly #host: NetlinkSocket;
  readonly #namespaces: NamespaceDirectory;
  readonly #instance: string;
  readonly #remover: LinkRemover;

  constructor(deps: {
    host: NetlinkSocket;
    namespaces: NamespaceDirectory;
    instance: string;
    remover: LinkRemover;
  }) {
    this.#host = deps.host;
    this.#namespaces = deps.namespaces;
    this.#instance = deps.instance;
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
      this.#host.request(parent.name, [
        this.#maker(parent),
        rtnetlink.setLinkAlias(parent.name, this.#alias(parent)),
      ]);
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

  /** `index`: of the new interface in its namespace, 0 = the kernel chooses. */
  plug(
    { parent, iface }: ChildAttachment,
    parentIndex: number,
    peer: { index: number; namespaceFd: number },
  ): void {
    const { name, mac, mtu } = iface;
    const { link } = parent;
    try {
      this.#host.request(name, [
        rtnetlink.newChildLink(link, { parent: parentIndex, mtu, peer: { name, mac, ...peer } }),
      ]);
    } catch (error) {
      throw explained(error, parent, link.kind);
    }
  }

  /** Tells whose it is. */
  mark({ iface }: ChildAttachment): NetlinkRequest {
    return rtnetlink.setLinkAlias(iface.name, iface.endpointId);
  }

  /** Takes these from a sandbox, if it has them. The namespace may be gone. */
  pull(sandboxId: string, endpointIds: readonly string[]): void {
    try {
      using inside = this.#namespaces.open(sandboxId);
      const own = inside
        .dump(sandboxId, rtnetlink.getLink())
        .map(rtnetlink.readLink)
        .filter(({ kind, alias }) => CHILDREN.has(kind) && endpointIds.includes(alias));
      if (own.length > 0) {
        inside.request(
          sandboxId,
          own.map(({ name }) => rtnetlink.deleteLink(name)),
        );
      }
    } catch (error) {
      const code = errnoOf(error);
      // ENOENT, EINVAL: no namespace (any more). ENODEV: gone since we looked.
      if (code !== 'ENOENT' && code !== 'EINVAL' && code !== 'ENODEV') {
        throw error;
      }
    }
  }

  #maker({ name, make }: ParentSettings): NetlinkRequest {
    if (make === 'dummy') {
      return rtnetlink.newDummy(name);
    }
    const base = make === 'host' ? undefined : findLink(this.#host, make.of);
    if (make === 'host' || base === undefined) {
      throw invalidArgument(`network parent interface ${name} was not found on the host`);
    }
    return rtnetlink.newVlan(name, { parent: base.index, id: make.vlan });
  }

  #alias({ networkId }: ParentSettings): string {
    return `${this.#instance}:${networkId}`;
  }
}

/** An error of the kernel, in words where it means that it has no links of this kind. */
function explained(error: unknown, { name }: ParentSettings, kind: string): unknown {
  return errnoOf(error) === 'ENOTSUP'
    ? internal(`network parent ${name}: the kernel of this host has no ${kind} interfaces`, { cause: error })
    : error;
}
