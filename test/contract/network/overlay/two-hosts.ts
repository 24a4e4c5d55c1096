import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseIp } from '../../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../../daemon/base/addresses/ip.ts';
import { macOfAddress } from '../../../../daemon/base/addresses/ipv4.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { newId } from '../../../../daemon/base/ids.ts';
import { inNetworkNamespace } from '../../../../daemon/base/kernel/processes/namespaces.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { KernelNetwork } from '../../../../runtime/network/kernel-network.ts';
import { NamespaceDirectory } from '../../../../runtime/network/namespace-directory.ts';
import type { OverlayPeer, OverlaySettings } from '../../../../runtime/network/overlay/settings.ts';
import { command } from '../host-namespace.ts';

// Each engine of a test listens for the end of the process.
process.setMaxListeners(0);

export const NETWORK = 'ov0000000000000000000000n';
export const UNDERLAY_MTU = 1500;

/** A host in a network namespace of its own, with the kernel's side of an engine's networks in it. */
export class OverlayHost {
  readonly #namespaces: NamespaceDirectory;
  readonly #directory: string;
  readonly #name: string;
  readonly prefix: string;
  kernel: KernelNetwork;

  constructor(deps: { namespaces: NamespaceDirectory; directory: string; name: string; prefix?: string }) {
    this.#namespaces = deps.namespaces;
    this.#directory = deps.directory;
    this.#name = deps.name;
    this.prefix = deps.prefix ?? `bo${deps.name}`;
    this.kernel = this.#engine();
  }

  get netns(): string {
    return this.#namespaces.path(this.#name);
  }

  get overlayNamespaces(): NamespaceDirectory {
    return new NamespaceDirectory(path.join(this.#directory, `overlays-${this.prefix}`));
  }

  get sandboxNamespaces(): NamespaceDirectory {
    return new NamespaceDirectory(path.join(this.#directory, `netns-${this.prefix}`));
  }

  /** An engine after kill -9: nothing in memory, the kernel as it was. */
  restart(): void {
    this.kernel[Symbol.dispose]();
    this.kernel = this.#engine();
  }

  /** Does something in the host's namespace; synchronous, up to its first await. */
  on<T>(work: (kernel: KernelNetwork) => T): T {
    return inNetworkNamespace(this.netns, () => work(this.kernel));
  }

  open(settings: OverlaySettings): void {
    this.on((kernel) => {
      kernel.overlays.openOverlay(settings);
    });
  }

  /** Output of a command on the host. */
  run(...argv: string[]): string {
    return command('nsenter', `--net=${this.netns}`, ...argv);
  }

  /** Packets that did not fit and left in parts. */
  fragments(): number {
    const [names = [], values = []] = this.run('grep', '^Ip:', '/proc/net/snmp')
      .split('\n')
      .map((line) => line.split(' '));
    return Number(values[names.indexOf('FragCreates')]);
  }

  /** Output of a command in the namespace of an overlay network. */
  inside(networkId: string, ...argv: string[]): string {
    return command('nsenter', `--net=${this.overlayNamespaces.path(networkId)}`, ...argv);
  }

  /** A container in an overlay network; its interface is `eth0`. */
  container(networkId: string, ...addresses: string[]): OverlayContainer {
    const id = newId();
    const endpointId = newId();
    const all = addresses.map(ip);
    const mac = macOf(all);
    this.on((kernel) =>
      kernel.open(id, {
        attachments: [
          {
            overlay: { networkId },
            iface: {
              endpointId,
              name: 'eth0',
              addresses: all.map((address) => ({
                address,
                prefixLength: typeof address === 'number' ? 16 : 64,
              })),
              linkLocal: [],
              settings: [],
              mac,
              mtu: 0,
            },
          },
        ],
        defaultRoutes: [],
      }),
    );
    return { id, endpointId, addresses: all, mac, netns: this.sandboxNamespaces.path(id) };
  }

  [Symbol.dispose](): void {
    this.kernel[Symbol.dispose]();
    for (const directory of [this.overlayNamespaces, this.sandboxNamespaces]) {
      for (const id of directory.list()) {
        directory.remove(id);
      }
    }
  }

  #engine(): KernelNetwork {
    const settings = {
      namespaceDirectory: path.join(this.#directory, `netns-${this.prefix}`),
      overlayDirectory: path.join(this.#directory, `overlays-${this.prefix}`),
      interfacePrefix: this.prefix,
      table: `t${this.prefix}`,
      ipForward: false,
    };
    return inNetworkNamespace(
      this.netns,
      () => new KernelNetwork({ settings, log: silentLogger, clock: systemClock }),
    );
  }
}

export interface OverlayContainer {
  id: string;
  endpointId: string;
  addresses: IpAddress[];
  mac: Buffer;
  netns: string;
}

/** Two hosts on one link. */
export class TwoHosts {
  readonly directory = mkdtempSync(path.join(os.tmpdir(), 'berth-overlay-'));
  readonly namespaces = new NamespaceDirectory(path.join(this.directory, 'hosts'));
  readonly a: OverlayHost;
  readonly b: OverlayHost;

  constructor() {
    const { directory, namespaces } = this;
    for (const name of ['a', 'b']) {
      namespaces.create(name).close();
    }
    this.a = new OverlayHost({ namespaces, directory, name: 'a' });
    this.b = new OverlayHost({ namespaces, directory, name: 'b' });
    this.a.run('ip', 'link', 'add', 'wire', 'type', 'veth', 'peer', 'name', 'wire', 'netns', this.b.netns);
    for (const [host, number] of [
      [this.a, 1],
      [this.b, 2],
    ] as const) {
      host.run('sysctl', '-qw', 'net.ipv6.conf.wire.disable_ipv6=0');
      host.run('ip', 'address', 'add', `192.0.2.${number}/24`, 'dev', 'wire');
      host.run('ip', 'address', 'add', `2001:db8::${number}/64`, 'dev', 'wire', 'nodad');
      host.run('ip', 'link', 'set', 'lo', 'up');
      host.run('ip', 'link', 'set', 'wire', 'up', 'mtu', String(UNDERLAY_MTU));
    }
  }

  [Symbol.dispose](): void {
    this.a[Symbol.dispose]();
    this.b[Symbol.dispose]();
    for (const name of this.namespaces.list()) {
      this.namespaces.remove(name);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export function ip(text: string): IpAddress {
  const address = parseIp(text);
  if (address === undefined) {
    throw new Error(`${text} is no address`);
  }
  return address;
}

export function overlay(local: string, changes: Partial<OverlaySettings> = {}): OverlaySettings {
  return {
    networkId: NETWORK,
    vni: 4097,
    port: 4789,
    local: ip(local),
    mtu: 0,
    encrypted: false,
    gateways: [{ address: ip('10.20.0.1'), prefixLength: 16 }],
    ...changes,
  };
}

export function peer(host: string, container: { mac: Buffer; addresses: readonly IpAddress[] }): OverlayPeer {
  return { mac: container.mac, addresses: container.addresses, host: ip(host) };
}

export function macOf(addresses: readonly IpAddress[]): Buffer {
  return macOfAddress(addresses.find((address) => typeof address === 'number') ?? 0);
}

/** Pings from a container; false when nothing comes back within a second. */
export function pings(from: { netns: string }, to: string, ...options: string[]): boolean {
  try {
    command('nsenter', `--net=${from.netns}`, 'busybox', 'ping', '-c', '1', '-W', '1', ...options, to);
    return true;
  } catch {
    return false;
  }
}
