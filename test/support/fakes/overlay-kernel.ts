import { isDeepStrictEqual } from 'node:util';
import { formatIp } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { internal } from '../../../daemon/base/errors.ts';
import type { OverlayKernel } from '../../../daemon/networks/overlay/ports.ts';
import type {
  BalancedAddress,
  IngressSettings,
  MeshPort,
  OverlayEncryption,
  OverlayGuard,
  OverlayPeer,
  OverlaySettings,
} from '../../../runtime/network/overlay/settings.ts';

/** A network as this kernel has it, in words. */
export interface FakeOverlay {
  vni: number;
  local: string;
  /** By MAC: `10.0.1.3 at 192.0.2.2`. */
  peers: Record<string, string>;
  /** By virtual address: what is behind it. */
  balance: Record<string, string[]>;
}

/** A kernel in memory that refuses what the real one refuses. */
export class FakeOverlayKernel implements OverlayKernel {
  readonly networks: Record<string, FakeOverlay> = {};
  /** How it leads virtual addresses to tasks. */
  balances: 'bridge' | 'none' = 'bridge';
  ingress: string | undefined;
  /** `tcp 8080 to 80: 10.0.0.4` */
  meshPorts: string[] = [];
  /** What it was asked, in order: `open net1`. */
  calls: string[] = [];
  /** By the call's text: what is thrown instead. */
  readonly failures = new Map<string, string>();
  /** Addresses of hosts that answer when they are asked. */
  readonly answering = new Set<string>();
  #asked: readonly IpAddress[] = [];

  /** `4097 encrypted: 192.0.2.2`, by its VNI; undefined: no table. */
  guarded: string[] | undefined;
  /** `192.0.2.1 > 192.0.2.2: 257`; undefined: nothing is encrypted. */
  paths: string[] | undefined;

  guard(guard: OverlayGuard | undefined): void {
    const texts = guard?.networks.map(
      ({ vni, encrypted, hosts }) =>
        `${vni}${encrypted ? ' encrypted' : ''}: ${hosts.map(formatIp).join(' ')}`,
    );
    this.#called(`guard ${(texts ?? ['nothing']).join(', ')}`);
    this.guarded = texts;
  }

  encrypt({ local, paths }: OverlayEncryption): number {
    this.#called(`encrypt ${paths?.length ?? 'as it is'}`);
    const before = this.paths ?? [];
    const after =
      paths?.map(
        ({ from, to, spi, key }) => `${formatIp(from)} > ${formatIp(to)}: ${spi} ${key.toString('hex')}`,
      ) ?? before;
    if (after.some((text) => !text.includes(formatIp(local)))) {
      throw internal('a path of other hosts');
    }
    this.paths = after;
    return (
      after.filter((text) => !before.includes(text)).length +
      before.filter((text) => !after.includes(text)).length
    );
  }

  stopEncryption(): void {
    if (this.paths !== undefined) {
      this.#called('stop encryption');
    }
    this.paths = undefined;
  }

  openOverlay(settings: OverlaySettings): 'bridge' | 'none' {
    this.#called(`open ${settings.networkId}`);
    this.#open(settings);
    return this.balances;
  }

  async closeOverlay(networkId: string): Promise<void> {
    this.#called(`close ${networkId}`);
    delete this.networks[networkId];
  }

  overlays(): string[] {
    return Object.keys(this.networks);
  }

  changePeers(
    networkId: string,
    { add, remove }: { add: readonly OverlayPeer[]; remove: readonly OverlayPeer[] },
  ): void {
    this.#called(`peers ${networkId}`);
    const { peers } = this.#network(networkId);
    remove.forEach((peer) => delete peers[peer.mac.toString('hex')]);
    for (const [mac, text] of Object.entries(inWords(add))) {
      if (peers[mac] !== undefined) {
        throw internal(`EEXIST: ${mac} is ${peers[mac]}`);
      }
      peers[mac] = text;
    }
  }

  mendPeers(networkId: string, all: readonly OverlayPeer[]): number {
    this.#called(`mend peers ${networkId}`);
    const network = this.#network(networkId);
    const wrong = differing(network.peers, inWords(all));
    network.peers = inWords(all);
    return wrong;
  }

  balance(networkId: string, changed: readonly BalancedAddress[], gone: readonly IpAddress[]): void {
    this.#called(`balance ${networkId}`);
    const { balance } = this.#network(networkId);
    gone.forEach((vip) => delete balance[formatIp(vip)]);
    Object.assign(balance, balanced(changed));
  }

  mendBalance(networkId: string, all: readonly BalancedAddress[]): number {
    this.#called(`mend balance ${networkId}`);
    const network = this.#network(networkId);
    const wrong = differing(network.balance, balanced(all));
    network.balance = balanced(all);
    return wrong;
  }

  forgetBackend(networkId: string, backend: IpAddress): void {
    this.#called(`forget ${networkId} ${formatIp(backend)}`);
    this.#network(networkId);
  }

  forgetUnanswered(networkId: string, backend: IpAddress): void {
    this.#called(`forget unanswered ${networkId} ${formatIp(backend)}`);
    this.#network(networkId);
  }

  /** Asking is none of `calls`: it happens all the time. */
  probe(hosts: readonly IpAddress[]): IpAddress[] {
    const answered = this.#asked.filter((host) => this.answering.has(formatIp(host)));
    this.#asked = hosts;
    return answered;
  }

  openIngress(settings: IngressSettings): void {
    this.#called(`open ingress ${settings.networkId}`);
    this.#open(settings);
    this.ingress = settings.networkId;
  }

  async closeIngress(): Promise<void> {
    this.#called('close ingress');
    delete this.networks[this.ingress ?? ''];
    this.ingress = undefined;
    this.meshPorts = [];
  }

  mesh(ports: readonly MeshPort[]): void {
    this.#called('mesh');
    if (this.ingress === undefined) {
      throw internal('there is no ingress network');
    }
    this.meshPorts = ports.map(
      ({ protocol, published, target, backends }) =>
        `${protocol} ${published} to ${target}: ${backends.map(formatIp).join(' ')}`,
    );
  }

  /** A device of another address is made again, without peers. */
  #open({ networkId, vni, local }: OverlaySettings): void {
    const known = this.networks[networkId];
    const isSame = known?.vni === vni && known.local === formatIp(local);
    this.networks[networkId] = {
      vni,
      local: formatIp(local),
      peers: isSame ? known.peers : {},
      balance: known?.balance ?? {},
    };
  }

  #network(networkId: string): FakeOverlay {
    const network = this.networks[networkId];
    if (network === undefined) {
      throw internal(`overlay network ${networkId} is not on this host`);
    }
    return network;
  }

  #called(text: string): void {
    this.calls.push(text);
    const failure = this.failures.get(text);
    if (failure !== undefined) {
      throw internal(failure);
    }
  }
}

function inWords(peers: readonly OverlayPeer[]): Record<string, string> {
  return Object.fromEntries(
    peers.map(({ mac, addresses, host }) => [
      mac.toString('hex'),
      `${addresses.map(formatIp).join(' ')} at ${formatIp(host)}`,
    ]),
  );
}

function balanced(all: readonly BalancedAddress[]): Record<string, string[]> {
  return Object.fromEntries(
    all.map(({ vip, backends }) => [formatIp(vip), backends.map(formatIp).toSorted()]),
  );
}

function differing(have: Record<string, unknown>, want: Record<string, unknown>): number {
  return [...new Set([...Object.keys(have), ...Object.keys(want)])].filter(
    (key) => !isDeepStrictEqual(have[key], want[key]),
  ).length;
}
