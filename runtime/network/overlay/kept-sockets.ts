import { NETLINK } from '../../../daemon/base/kernel/sockets/netlink.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';
import { NetlinkSocket } from '../netlink/netlink-socket.ts';

interface Kept {
  namespace: string;
  socket: NetlinkSocket;
}

/**
 * A socket for nftables and connection tracking in each network's namespace, kept until the network is closed: closing
 * one waits until the kernel has freed what the last transaction in that namespace took away, 5 to 25 ms, and keeps the
 * next transaction waiting too. It keeps the namespace alive.
 */
export class KeptSockets {
  readonly #namespaces: NamespaceDirectory;
  readonly #kept = new Map<string, Kept>();

  constructor(namespaces: NamespaceDirectory) {
    this.#namespaces = namespaces;
  }

  /** Not to be closed by the caller. Throws ENOENT or EINVAL when there is no such namespace. */
  of(networkId: string): NetlinkSocket {
    const namespace = this.#namespaces.identity(networkId);
    const kept = this.#kept.get(networkId);
    if (kept?.namespace === namespace) {
      return kept.socket;
    }
    const socket = this.#namespaces.enter(networkId, () => new NetlinkSocket(NETLINK.netfilter));
    this.#kept.set(networkId, { namespace, socket });
    // Another program took that namespace away: it may wait.
    kept?.socket.close();
    return socket;
  }

  /** Idempotent. Never rejects. */
  async close(networkId: string): Promise<void> {
    const kept = this.#kept.get(networkId);
    this.#kept.delete(networkId);
    await kept?.socket.closeSlowly();
  }
}
