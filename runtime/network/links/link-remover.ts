import type { Clock } from '../../../daemon/base/clock.ts';
import { errnoOf } from '../../../daemon/base/errors.ts';
import { NETLINK } from '../../../daemon/base/kernel/sockets/netlink.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { deleteLink } from '../netlink/links.ts';

/** Opens a socket in the namespace that has a link. */
type Place = () => NetlinkSocket;

/** Of a removal that has nothing to do: the link, or its namespace, is gone. */
const GONE: ReadonlySet<string | undefined> = new Set(['ENODEV', 'ENOENT', 'EINVAL']);

/**
 * Removes interfaces without holding up a request. Removal makes the kernel sleep 25 ms and more, so it happens on
 * a pool thread, one at a time, and only for what did not vanish by itself with its network namespace.
 */
export class LinkRemover {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #socket = new NetlinkSocket(NETLINK.route);
  #tail: Promise<void> = Promise.resolve();

  constructor(deps: { log: Logger; clock: Clock }) {
    this.#log = deps.log;
    this.#clock = deps.clock;
  }

  /**
   * Removes the link, of the host or of another `place`, after `delayMs`, in which it mostly goes with its namespace. A
   * failure is logged.
   */
  removeLater(name: string, delayMs: number, place?: Place): void {
    this.#clock.setTimeout(() => {
      // One after the other: they share the socket.
      this.#tail = this.#tail.then(() => this.#remove(name, place));
    }, delayMs);
  }

  /** Removes the link; resolves when it is gone. A failure is logged. */
  removeNow(name: string, place?: Place): Promise<void> {
    this.#tail = this.#tail.then(() => this.#remove(name, place));
    return this.#tail;
  }

  async #remove(name: string, place?: Place): Promise<void> {
    try {
      if (place === undefined) {
        await this.#socket.requestSlowly(name, deleteLink(name));
        return;
      }
      using inside = place();
      await inside.requestSlowly(name, deleteLink(name));
    } catch (error) {
      if (!GONE.has(errnoOf(error))) {
        this.#log.error({ link: name, err: error }, 'interface could not be removed');
      }
    }
  }
}
