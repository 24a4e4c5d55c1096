import type { OverlayKernel } from '../../../../daemon/networks/overlay/ports.ts';
import { newId } from '../../../../daemon/base/ids.ts';
import type { KernelNetwork } from '../../../../runtime/network/kernel-network.ts';
import type { IngressSettings, MeshPort } from '../../../../runtime/network/overlay/settings.ts';
import { OverlayBed } from './overlay-bed.ts';
import { OverlayHost, TwoHosts, ip, macOf, overlay, peer } from './two-hosts.ts';
import type { OverlayContainer } from './two-hosts.ts';

/** Both hosts' addresses on the link between them and a client, and in the ingress network. */
const HOSTS = {
  a: { outside: '198.51.100.1', outside6: '2001:db8:1::1', node: '10.30.0.2', node6: 'fd30::2' },
  b: { outside: '198.51.101.1', outside6: '2001:db8:2::1', node: '10.30.0.3', node6: 'fd30::3' },
} as const;
type HostName = keyof typeof HOSTS;

const BRIDGE_ADDRESS = ip('172.30.0.1');
const BRIDGE = {
  name: 'boabridge',
  addresses: [{ address: BRIDGE_ADDRESS, prefixLength: 16 }],
  mtu: 1500,
  internal: false,
  icc: true,
  masquerade: true,
};

const OUTLET = {
  ...BRIDGE,
  name: 'boaoutlet',
  addresses: [
    { address: ip('172.31.0.1'), prefixLength: 16 },
    { address: ip('fd31::1'), prefixLength: 64 },
  ],
};

export const INGRESS = 'in0000000000000000000000g';
const LOCAL = { a: '192.0.2.1', b: '192.0.2.2' } as const;

/** Two hosts of a swarm with its ingress network, and a client on another link of each. */
export class MeshBed {
  readonly hosts = new TwoHosts();
  readonly tools = new OverlayBed();
  readonly #backends: { host: HostName; container: OverlayContainer }[] = [];

  constructor() {
    this.hosts.namespaces.create('client').close();
    const { a, b } = this.hosts;
    for (const host of [a, b]) {
      const name = host === a ? 'a' : 'b';
      const wire = `to-${name}`;
      const { outside, outside6 } = HOSTS[name];
      host.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
      host.run('ip', 'link', 'add', 'lan', 'type', 'veth', 'peer', 'name', wire, 'netns', this.client);
      host.run('sysctl', '-qw', 'net.ipv6.conf.lan.disable_ipv6=0');
      this.tools.in(this.client, 'sysctl', '-qw', `net.ipv6.conf.${wire}.disable_ipv6=0`);
      host.run('ip', 'address', 'add', `${outside}/24`, 'dev', 'lan');
      host.run('ip', 'address', 'add', `${outside6}/64`, 'dev', 'lan', 'nodad');
      host.run('ip', 'link', 'set', 'lan', 'up');
      const there = [outside, outside6].map((address) => address.replace(/1$/, '9'));
      this.tools.in(this.client, 'ip', 'address', 'add', `${there[0]}/24`, 'dev', wire);
      this.tools.in(this.client, 'ip', 'address', 'add', `${there[1]}/64`, 'dev', wire, 'nodad');
      this.tools.in(this.client, 'ip', 'link', 'set', wire, 'up');
      host.on((kernel) => {
        kernel.prepare([], []);
      });
    }
  }

  get client(): string {
    return this.hosts.namespaces.path('client');
  }

  static address(host: HostName, family: 4 | 6 = 4): string {
    return HOSTS[host][family === 4 ? 'outside' : 'outside6'];
  }

  /** As the domain sees the kernel. */
  static overlays(kernel: KernelNetwork): OverlayKernel {
    return kernel.overlays;
  }

  settings(name: HostName, changes: Partial<IngressSettings> = {}): IngressSettings {
    const { node, node6 } = HOSTS[name];
    return {
      ...overlay(LOCAL[name], {
        networkId: INGRESS,
        vni: 4096,
        gateways: [
          { address: ip('10.30.0.1'), prefixLength: 16 },
          { address: ip('fd30::1'), prefixLength: 64 },
        ],
      }),
      nodeAddresses: [
        { address: ip(node), prefixLength: 16 },
        { address: ip(node6), prefixLength: 64 },
      ],
      ...changes,
    };
  }

  host(name: HostName): OverlayHost {
    return this.hosts[name];
  }

  /** Opens it on both, and tells each what the other has. */
  open(changes: Partial<IngressSettings> = {}): void {
    for (const name of ['a', 'b'] as const) {
      this.on(name, (overlays) => {
        overlays.openIngress(this.settings(name, changes));
      });
    }
    this.#tellPeers();
  }

  /** A task in the ingress network that answers with its tag. */
  async backend(host: HostName, tag: string, last: number, port = 80): Promise<void> {
    const container = this.host(host).container(INGRESS, `10.30.0.${last}`, `fd30::${last}`);
    this.#backends.push({ host, container });
    this.#tellPeers();
    await this.tools.serve(container.netns, tag, port, 4);
    await this.tools.serve(container.netns, tag, port + 1, 6);
  }

  /** A task of host a gets another way out: a bridge of the host, to which its default routes lead. */
  async outlet(address: string, last: number): Promise<void> {
    const { id } =
      this.#backends.find(({ container }) => container.addresses.includes(ip(address)))?.container ?? {};
    const both = [ip(`172.31.0.${last}`), ip(`fd31::${last}`)];
    const iface = {
      endpointId: newId(),
      name: 'eth1',
      addresses: both.map((each) => ({ address: each, prefixLength: typeof each === 'number' ? 16 : 64 })),
      linkLocal: [],
      settings: [],
      mac: macOf(both),
      mtu: 1500,
    };
    await this.hosts.a.on((kernel) => kernel.addBridge(OUTLET));
    await this.hosts.a.on((kernel) => kernel.attachInterface(id ?? '', { bridge: OUTLET, iface }));
    this.hosts.a.on((kernel) => {
      kernel.route(
        id ?? '',
        OUTLET.addresses.map((each) => ({ router: each.address })),
      );
    });
  }

  /** A container on a bridge of host a, which is not in the ingress network. Answers with its tag where it has one. */
  async neighbour(last: number, tag?: string): Promise<string> {
    const id = newId();
    const address = ip(`172.30.0.${last}`);
    const iface = {
      endpointId: newId(),
      name: 'eth0',
      addresses: [{ address, prefixLength: 16 }],
      linkLocal: [],
      settings: [],
      mac: macOf([address]),
      mtu: 1500,
    };
    await this.hosts.a.on((kernel) => kernel.addBridge(BRIDGE));
    this.hosts.a.on((kernel) =>
      kernel.open(id, {
        attachments: [{ bridge: BRIDGE, iface }],
        defaultRoutes: [{ router: BRIDGE_ADDRESS }],
      }),
    );
    const file = this.hosts.a.sandboxNamespaces.path(id);
    if (tag !== undefined) {
      await this.tools.serve(file, tag, 80);
    }
    return file;
  }

  /** Another one on the same host. */
  secondEngine(name: HostName): OverlayHost {
    const { namespaces, directory } = this.hosts;
    return new OverlayHost({ namespaces, directory, name, prefix: `bp${name}` });
  }

  /** An engine after kill -9, with the bridges that its store tells of. */
  restart(name: HostName): void {
    this.host(name).restart();
    this.host(name).on((kernel) => {
      kernel.prepare([], []);
    });
  }

  /** Where a task is, by its address. */
  netnsOf(address: string): string {
    const task = this.#backends.find(({ container }) => container.addresses.includes(ip(address)));
    return task?.container.netns ?? '';
  }

  /** On both hosts. */
  mesh(...ports: MeshPort[]): void {
    for (const name of ['a', 'b'] as const) {
      this.on(name, (overlays) => {
        overlays.mesh(ports);
      });
    }
  }

  on<T>(name: HostName, work: (overlays: OverlayKernel) => T): T {
    return this.host(name).on((kernel) => work(MeshBed.overlays(kernel)));
  }

  /** What a host still has of it: links, networks, and elements of its firewall. */
  left(name: HostName): string {
    const host = this.host(name);
    const links = host.run('ip', '-o', 'link').match(new RegExp(`${host.prefix}in\\S+`, 'g')) ?? [];
    const tables = host.run('nft', 'list', 'ruleset');
    const elements = tables.match(/(?:map mesh|set ways) \{[^}]*elements = .*/g) ?? [];
    return [...links, ...this.on(name, (overlays) => overlays.overlays()), ...elements].join(', ');
  }

  /** How often each of them answered. */
  async answers(count: number, from: string, address: string, port: number): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (let round = 0; round < count; round += 1) {
      const answer = await this.tools.ask(from, address, port);
      found[answer] = (found[answer] ?? 0) + 1;
    }
    return found;
  }

  [Symbol.dispose](): void {
    this.tools[Symbol.dispose]();
    this.hosts[Symbol.dispose]();
  }

  #tellPeers(): void {
    for (const name of ['a', 'b'] as const) {
      const other = name === 'a' ? 'b' : 'a';
      const { node, node6 } = HOSTS[other];
      const addresses = [ip(node), ip(node6)];
      const peers = [
        { mac: macOf(addresses), addresses },
        ...this.#backends.filter(({ host }) => host === other).map(({ container }) => container),
      ].map((each) => peer(LOCAL[other], each));
      this.on(name, (overlays) => overlays.mendPeers(INGRESS, peers));
    }
  }
}

export function published(
  port: number,
  target: number,
  backends: readonly string[],
  protocol: MeshPort['protocol'] = 'tcp',
  local: readonly string[] = [],
): MeshPort {
  return { protocol, published: port, target, backends: backends.map(ip), local: local.map(ip) };
}
