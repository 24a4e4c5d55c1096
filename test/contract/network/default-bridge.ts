import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../../daemon/base/clock.ts';
import { newId } from '../../../daemon/base/ids.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { FakeOverlayKernel } from '../../support/fakes/overlay-kernel.ts';
import { noSwarm } from '../../support/fakes/no-swarm.ts';
import { hostFiles } from '../../../daemon/networks/files/host-files.ts';
import { assembleNetworks } from '../../../daemon/networks/assemble.ts';
import type { Networks } from '../../../daemon/networks/networks.ts';
import { defaultNetworkOptions } from '../../../daemon/networks/options.ts';
import type { Sandbox, SandboxRequest } from '../../../daemon/networks/sandbox/sandbox.ts';
import type { Sandboxes } from '../../../daemon/networks/sandbox/sandboxes.ts';
import { KernelNetwork } from '../../../runtime/network/kernel-network.ts';
import type { NetworkRow } from '../../../storage/database/rows.ts';
import { ThrowAwayHost, command } from './host-namespace.ts';

/** The default bridge, 10.77.0.1/24, on a throw-away host: real networks on the real kernel. */
export class DefaultBridge {
  readonly name = 'bthtest0';
  readonly host = new ThrowAwayHost();
  readonly #meta = new Map<string, string>();
  readonly #rows = new Map<string, NetworkRow>();
  kernel: KernelNetwork;
  sandboxes: Sandboxes;
  networks: Networks;

  constructor() {
    ({ kernel: this.kernel, sandboxes: this.sandboxes, networks: this.networks } = this.#engine());
  }

  static async start(): Promise<DefaultBridge> {
    const bridge = new DefaultBridge();
    await bridge.sandboxes.restore([]);
    bridge.host.routeFromNeighbour('10.77.0.0/24');
    return bridge;
  }

  /** A daemon after kill -9: nothing in memory, the kernel as it was. */
  restart(): void {
    ({ kernel: this.kernel, sandboxes: this.sandboxes, networks: this.networks } = this.#engine());
  }

  /** What is in the kernel for this instance. */
  kernelState(): { namespaces: string[]; links: string[]; elements: string[] } {
    const directory = path.join(this.host.directory, 'netns');
    const links = command('ip', '-o', 'link').split('\n');
    return {
      namespaces: existsSync(directory) ? readdirSync(directory) : [],
      links: links.map((line) => line.split(/[:@] ?/)[1] ?? '').filter((name) => name.startsWith('btt')),
      elements: ['published_any', 'published_at'].flatMap(elements),
    };
  }

  #engine(): { kernel: KernelNetwork; sandboxes: Sandboxes; networks: Networks } {
    const options = {
      ...defaultNetworkOptions,
      bridge: this.name,
      bip: '10.77.0.1/24',
      interfacePrefix: 'btt',
    };
    const kernel = new KernelNetwork({
      settings: {
        namespaceDirectory: path.join(this.host.directory, 'netns'),
        overlayDirectory: path.join(this.host.directory, 'overlays'),
        interfacePrefix: 'btt',
        table: 'berthtest',
        ipForward: true,
      },
      log: silentLogger,
      clock: systemClock,
    });
    const meta = {
      get: (key: string) => this.#meta.get(key),
      set: (key: string, value: string) => void this.#meta.set(key, value),
    };
    const table = {
      insert: (row: NetworkRow) => void this.#rows.set(row.id, row),
      remove: (id: string) => void this.#rows.delete(id),
      all: () => [...this.#rows.values()],
    };
    return {
      kernel,
      ...assembleNetworks({
        kernel,
        meta,
        table,
        journal: {
          commit: (change) => change(() => undefined),
          note: () => undefined,
          settle: () => undefined,
          tell: () => undefined,
        },
        options,
        files: hostFiles(),
        overlayKernel: new FakeOverlayKernel(),
        swarm: noSwarm,
        overlayFiles: mkdtempSync(join(tmpdir(), 'berth-test-overlays-')),
        containerName: () => 'web',
        isWanted: () => false,
        clock: systemClock,
        log: silentLogger,
      }),
    };
  }
}

function elements(map: string): string[] {
  const listing = command('nft', 'list', 'map', 'ip', 'berthtest', map);
  return /elements = \{([^}]*)\}/.exec(listing)?.[1]?.trim().split(/,\s*/) ?? [];
}

/** A container's wish for the default bridge, with nothing published. */
export function request(overrides: Partial<SandboxRequest> = {}): SandboxRequest {
  return {
    containerId: newId(),
    containerName: '/web',
    hostname: 'web',
    domainname: '',
    networkMode: 'bridge',
    endpoints: {},
    exposedPorts: [],
    portBindings: {},
    publishAllPorts: false,
    dns: [],
    dnsSearch: [],
    dnsOptions: [],
    extraHosts: [],
    ...overrides,
  };
}

/** `8080:80/tcp`, `127.0.0.1:8080:80/tcp` or `:80/tcp` as PortBindings. */
export function publish(...bindings: string[]): SandboxRequest['portBindings'] {
  return Object.fromEntries(
    bindings.map((binding) => {
      const [, hostIp = '', hostPort = '', port = ''] = /^(?:([\d.]+):)?(\d*):(.*)$/.exec(binding) ?? [];
      return [port, [{ HostIp: hostIp, HostPort: hostPort }]];
    }),
  );
}

export function netns(sandbox: Sandbox): string {
  return sandbox.netnsPath ?? '';
}

export function address(sandbox: Sandbox): string {
  return sandbox.endpoints['bridge']?.IPAddress ?? '';
}
