import { createHash } from 'node:crypto';
import { errnoOf, internal } from '../../../../daemon/base/errors.ts';
import { failpoint } from '../../../../daemon/base/failpoint.ts';
import { formatIp } from '../../../../daemon/base/addresses/ip.ts';
import { NETLINK } from '../../../../daemon/base/kernel/sockets/netlink.ts';
import type { NetlinkMessage } from '../../netlink/netlink.ts';
import { NetlinkSocket } from '../../netlink/netlink-socket.ts';
import {
  deletePolicy,
  deleteState,
  getPolicies,
  getStates,
  hasSelectorOf,
  isPolicy,
  newState,
  readState,
  requestOfPolicy,
  setPolicy,
} from '../../netlink/xfrm.ts';
import type { EspState, FoundState } from '../../netlink/xfrm.ts';
import type { EncryptedPath, OverlayEncryption } from '../settings.ts';
import { ENCRYPTED_SOURCES } from './source-ports.ts';

/** What is to be deleted may be gone. */
const GONE: ReadonlySet<string> = new Set(['ESRCH', 'ENOENT']);
/** A key sends no more packets than there are numbers of 32 bits: long before, the kernel counts anew. */
const SENT_MAX = 2 ** 31;
/**
 * A state that is made only to hear whether the kernel can. Numbers below 256 are reserved, those of nodes begin later.
 */
const PROBE_SPI = 256;
const PROBE_KEY_BYTES = 20;

/**
 * Encryption of what overlay networks send between hosts: one policy for all packets of encrypted networks, which leave
 * as ESP or not at all, and for each direction between this host and another a state with its key. States and the
 * policy are known as this instance's by their request number.
 */
export class Esp {
  readonly #request: number;
  /** Opened when it is first needed: a kernel may have no IPsec at all. */
  #socket: NetlinkSocket | undefined;
  #isThere = false;

  constructor(deps: { instance: string }) {
    this.#request = requestNumber(deps.instance);
  }

  /**
   * Makes the policy, and exactly these states. Without `paths` the states stay as they are. Answers how many entries
   * were not so. Throws a sentence where the kernel has no ESP. What is new comes before what is old goes.
   */
  encrypt({ local, port, paths }: OverlayEncryption): number {
    this.#probe(local);
    const policy = { from: local, port, sources: ENCRYPTED_SOURCES, request: this.#request };
    const found = this.#policies();
    const others = found.filter((each) => !isPolicy(each, policy));
    let wrong = others.length;
    if (others.length === found.length) {
      failpoint('overlay.encrypt.policy');
      this.#xfrm.request('policy of encrypted overlay networks', [setPolicy(policy)]);
      wrong += 1;
    }
    this.#deletePolicies(others.filter((each) => !hasSelectorOf(each, policy)));
    return wrong + (paths === undefined ? 0 : this.#mend(paths));
  }

  /** Whether this daemon has encrypted anything yet. */
  get isInUse(): boolean {
    return this.#socket !== undefined;
  }

  /** Nothing is encrypted any more. Idempotent; finds what an earlier daemon left. */
  stop(): void {
    failpoint('overlay.encrypt.stop');
    try {
      this.#delete(this.#own());
      this.#deletePolicies(this.#policies());
    } catch (error) {
      // The kernel has no IPsec: nothing was ever encrypted on this host.
      if (errnoOf(error) !== 'EPROTONOSUPPORT') {
        throw error;
      }
    }
  }

  get #xfrm(): NetlinkSocket {
    this.#socket ??= new NetlinkSocket(NETLINK.xfrm);
    return this.#socket;
  }

  #mend(paths: readonly EncryptedPath[]): number {
    const wanted = new Map(paths.map((path) => [keyOf(path), { ...path, request: this.#request }]));
    const found = this.#own();
    const good = new Set(found.filter((state) => isSame(wanted.get(keyOf(state)), state)).map(keyOf));
    const bad = found.filter((state) => !good.has(keyOf(state)));
    const missing = [...wanted].filter(([key]) => !good.has(key)).map(([, state]) => state);
    // Those whose place is taken go first.
    const replaced = bad.filter((state) => wanted.has(keyOf(state)));
    this.#delete(replaced);
    if (missing.length > 0) {
      failpoint('overlay.encrypt.states');
      this.#add(missing);
    }
    this.#delete(bad.filter((state) => !wanted.has(keyOf(state))));
    return new Set([...bad, ...missing].map(keyOf)).size;
  }

  #add(states: readonly EspState[]): void {
    try {
      this.#xfrm.requestAll('keys of encrypted overlay networks', states.map(newState));
    } catch (error) {
      throw errnoOf(error) === 'EEXIST'
        ? internal('another program of this host has IPsec states with the numbers of its own', {
            cause: error,
          })
        : error;
    }
  }

  #delete(states: readonly FoundState[]): void {
    if (states.length > 0) {
      failpoint('overlay.encrypt.remove');
      this.#xfrm.requestAll('keys of encrypted overlay networks', states.map(deleteState), GONE);
    }
  }

  #own(): FoundState[] {
    return this.#xfrm
      .dump('IPsec states', getStates())
      .map(readState)
      .filter((state) => state !== undefined)
      .filter(({ request }) => request === this.#request);
  }

  #policies(): NetlinkMessage[] {
    return this.#xfrm
      .dump('IPsec policies', getPolicies())
      .filter((policy) => requestOfPolicy(policy) === this.#request);
  }

  #deletePolicies(policies: readonly NetlinkMessage[]): void {
    this.#xfrm.requestAll('policy of encrypted overlay networks', policies.map(deletePolicy), GONE);
  }

  /** Before the first packet needs it: a kernel without ESP takes policies, and refuses states. */
  #probe(local: OverlayEncryption['local']): void {
    if (this.#isThere) {
      return;
    }
    const state = {
      from: local,
      to: local,
      spi: PROBE_SPI,
      key: Buffer.alloc(PROBE_KEY_BYTES, 1),
      request: this.#request,
    };
    failpoint('overlay.encrypt.probe');
    try {
      this.#xfrm.request(formatIp(local), [newState(state)]);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') {
        throw internal('the kernel of this node has no ESP (IPsec) with AES-GCM, which encryption needs', {
          cause: error,
        });
      }
    }
    this.#xfrm.requestAll(formatIp(local), [deleteState(state)], GONE);
    this.#isThere = true;
  }
}

/**
 * As no other program is likely to have, and no other engine on this host: `B` and three bytes of its name's digest.
 */
function requestNumber(instance: string): number {
  const digest = createHash('sha256').update(instance).digest();
  return ((0x42 << 24) | digest.readUIntBE(0, 3)) >>> 0;
}

/** What the kernel finds a state by. */
function keyOf({ to, spi }: Pick<EspState, 'to' | 'spi'>): string {
  return `${formatIp(to)} ${spi}`;
}

/** Not one that is to be made anew, since it has sent much. A kernel that is locked down tells no keys. */
function isSame(wanted: EspState | undefined, found: FoundState): boolean {
  const isSecret = found.key.length > 0 && found.key.every((byte) => byte === 0);
  return (
    wanted !== undefined &&
    wanted.from === found.from &&
    (isSecret || wanted.key.equals(found.key)) &&
    found.sent < SENT_MAX
  );
}
