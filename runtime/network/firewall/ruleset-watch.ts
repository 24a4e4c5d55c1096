import { errnoOf } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { NETLINK, openNetlinkListener } from '../../../daemon/base/kernel/sockets/netlink.ts';
import { Poller } from '../../../daemon/base/kernel/sockets/poller.ts';
import { closeSocket, receiveDatagram } from '../../../daemon/base/kernel/sockets/sockets.ts';
import { decodeAttributes } from '../netlink/attributes.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';

/** linux/netfilter/nfnetlink.h */
const NFNLGRP_NFTABLES = 7;
/** Of each message; the rest of it is of no interest. */
const HEAD_BYTES = 16;

/** linux/netfilter/nf_tables.h */
const NFTABLES = 10;
const GET_GENERATION = (NFTABLES << 8) | 16;
const NFTA_GEN_ID = 1;

export interface RulesetWatch extends Disposable {
  /** From here on, or from the last call on if that is earlier, a change is told: once, then no more is heard. */
  listen(): void;
}

/**
 * Calls `changed` on the main thread soon (0.1 ms on an idle machine) after any program, this process too, has changed
 * a table of nftables in the network namespace of the calling thread. One call stands for any number of changes. Throws
 * where the kernel does not tell.
 */
export function watchRuleset(changed: () => void): RulesetWatch {
  const fd = openNetlinkListener(NETLINK.netfilter, NFNLGRP_NFTABLES);
  const watch = new Poller().watch(fd, () => {
    drain(fd);
    changed();
  });
  return {
    listen: () => watch.arm({ read: true, write: false }),
    [Symbol.dispose]: () => {
      watch[Symbol.dispose]();
      closeSocket(fd);
    },
  };
}

function drain(fd: number): void {
  const head = Buffer.alloc(HEAD_BYTES);
  for (let count = 0; count < limits.firewallMessagesMax; count += 1) {
    try {
      receiveDatagram('nftables changes', fd, head);
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'EAGAIN') {
        return;
      }
      // ENOBUFS: there were more than it can keep; one is enough, as `changed` compares everything.
      if (code !== 'ENOBUFS' && code !== 'EINTR') {
        throw error;
      }
    }
  }
}

/** A number that grows with every change of any nftables table of the host, by any program. About 10 microseconds. */
export function rulesetGeneration(netfilter: NetlinkSocket): number {
  const header = Buffer.alloc(4);
  const [answer] = netfilter.request('nftables generation', [
    { type: GET_GENERATION, flags: 0, header, attributes: [] },
  ]);
  const attributes = decodeAttributes(answer?.payload.subarray(header.length) ?? Buffer.alloc(0));
  return attributes.get(NFTA_GEN_ID)?.readUInt32BE(0) ?? 0;
}
