import { LOG_DRIVERS } from '../../runtime/log-drivers/drivers.ts';
import type {
  DiskUsage,
  DiskUsageType,
  LegacyInfo,
  SystemInfo,
  VersionResponse,
} from '../../api/types/system.ts';
import type { Component } from '../../runtime/host/components.ts';
import { formatNano } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { proxiesOf, withoutCredentials } from '../base/http/proxies.ts';
import type { Build, LiveFacts, SystemCounts, SystemFacts, SystemSettings } from './ports.ts';
import { registryConfig } from './registry-config.ts';

export interface SystemDeps {
  engineId: string;
  build: Build;
  facts: SystemFacts;
  live: LiveFacts;
  settings(): SystemSettings;
  counts(): SystemCounts;
  volumeDrivers(): Promise<string[]>;
  diskUsage(types: ReadonlySet<DiskUsageType>): Promise<DiskUsage>;
  /** Names of the devices that are described on this host now. */
  describedDevices(): string[];
  /** Clients that listen to events. */
  eventListeners(): number;
  /** HTTP_PROXY, HTTPS_PROXY, NO_PROXY of the daemon. */
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
}

const IPV4_FORWARDING = 'net/ipv4/ip_forward';
/** Said of the machine when it was looked at; the daemon may have switched it on since. */
const FORWARDING_WARNING = /IPv4 forwarding is disabled/;

/** What the engine tells about itself: `SystemPort`. */
export class System {
  readonly #deps: SystemDeps;

  constructor(deps: SystemDeps) {
    this.#deps = deps;
  }

  async info(): Promise<Omit<SystemInfo, 'Swarm'> & LegacyInfo> {
    const settings = this.#deps.settings();
    const volumeDrivers = await this.#deps.volumeDrivers();
    return {
      ...this.#identity(settings),
      ...this.#counts(),
      ...this.#storage(settings, volumeDrivers),
      ...this.#limits(),
      ...this.#network(),
      ...this.#programs(settings),
      RegistryConfig: registryConfig(settings.insecureRegistries, settings.registryMirrors),
      SecurityOptions: this.#securityOptions(settings),
      Warnings: this.#warnings(settings),
      ...(settings.addressPools.length > 0 && {
        DefaultAddressPools: settings.addressPools.map(({ base, size }) => ({ Base: base, Size: size })),
      }),
    };
  }

  diskUsage(types: ReadonlySet<DiskUsageType>): Promise<DiskUsage> {
    return this.#deps.diskUsage(types);
  }

  version(): Promise<VersionResponse> {
    const { build, facts } = this.#deps;
    const engine = {
      ApiVersion: build.apiVersion,
      Arch: facts.imageArchitecture,
      BuildTime: build.time,
      GitCommit: build.commit,
      // The field every client prints; what runs here is not Go, and says so.
      GoVersion: `node${process.versions.node}`,
      KernelVersion: facts.kernelVersion,
      MinAPIVersion: build.minApiVersion,
      Os: 'linux',
    };
    const { runc, conmon } = facts.components;
    return Promise.resolve({
      Platform: { Name: 'Berth' },
      Components: [
        { Name: 'Engine', Version: build.version, Details: { ...engine, Experimental: 'false' } },
        ...component('runc', runc),
        ...component('conmon', conmon),
        { Name: 'SQLite', Version: build.sqliteVersion, Details: {} },
      ],
      Version: build.version,
      ...engine,
    });
  }

  #identity(settings: SystemSettings) {
    const { engineId, build, facts, clock, environment } = this.#deps;
    const proxies = proxiesOf(environment);
    return {
      ID: engineId,
      Name: facts.hostname,
      Labels: [...settings.labels],
      ServerVersion: build.version,
      ExperimentalBuild: false,
      Debug: settings.debug,
      SystemTime: formatNano(clock.nowNano()),
      OSType: 'linux',
      OperatingSystem: facts.operatingSystem,
      OSVersion: facts.osVersion,
      KernelVersion: facts.kernelVersion,
      Architecture: facts.architecture,
      NCPU: facts.cpus,
      MemTotal: facts.memoryBytes,
      IndexServerAddress: 'https://index.docker.io/v1/',
      HttpProxy: withoutCredentials(proxies.http),
      HttpsProxy: withoutCredentials(proxies.https),
      NoProxy: proxies.none,
    };
  }

  #counts() {
    const { live } = this.#deps;
    const { running, paused, stopped, images } = this.#deps.counts();
    return {
      Containers: running + paused + stopped,
      ContainersRunning: running,
      ContainersPaused: paused,
      ContainersStopped: stopped,
      Images: images,
      NFd: live.openFiles(),
      NGoroutines: live.activeResources(),
      NEventsListener: this.#deps.eventListeners(),
    };
  }

  #storage({ storageDriver, dataRoot, logDriver }: SystemSettings, volumeDrivers: string[]) {
    return {
      Driver: storageDriver,
      DriverStatus: [
        ['Backing Filesystem', this.#deps.live.fileSystem(dataRoot)],
        ['Supports d_type', 'true'],
        // By this line buildx knows that lists of images and what is said of them may be loaded.
        ['driver-type', 'io.containerd.snapshotter.v1'],
      ],
      SystemStatus: null,
      DockerRootDir: dataRoot,
      LoggingDriver: logDriver,
      Plugins: {
        Volume: volumeDrivers,
        Network: ['bridge', 'host', 'ipvlan', 'macvlan', 'null', 'overlay'],
        Authorization: null,
        Log: LOG_DRIVERS.filter((name) => name !== 'none').toSorted(),
      },
    };
  }

  #limits() {
    const { cgroup } = this.#deps.facts;
    return {
      CgroupDriver: cgroup.driver,
      CgroupVersion: String(cgroup.version),
      MemoryLimit: cgroup.memoryLimit,
      SwapLimit: cgroup.swapLimit,
      CpuCfsPeriod: cgroup.cpuCfs,
      CpuCfsQuota: cgroup.cpuCfs,
      CPUShares: cgroup.cpuShares,
      CPUSet: cgroup.cpuset,
      PidsLimit: cgroup.pidsLimit,
      OomKillDisable: cgroup.oomKillDisable,
    };
  }

  #network() {
    const { live } = this.#deps;
    return {
      IPv4Forwarding: live.isOn(IPV4_FORWARDING),
      BridgeNfIptables: live.isOn('net/bridge/bridge-nf-call-iptables'),
      BridgeNfIp6tables: live.isOn('net/bridge/bridge-nf-call-ip6tables'),
      FirewallBackend: { Driver: 'nftables' },
    };
  }

  #programs({ defaultRuntime, runtimes, liveRestore, genericResources, cdiSpecDirs }: SystemSettings) {
    const devices = this.#deps.describedDevices();
    const { runc, init } = this.#deps.facts.components;
    return {
      Runtimes: {
        ...Object.fromEntries(
          Object.entries(runtimes).map(([name, { path, runtimeArgs }]) => [
            name,
            { path, ...(runtimeArgs.length > 0 && { runtimeArgs: [...runtimeArgs] }) },
          ]),
        ),
        runc: { path: runc?.path ?? 'runc' },
      },
      DefaultRuntime: defaultRuntime,
      LiveRestoreEnabled: liveRestore,
      Isolation: '',
      InitBinary: init?.path ?? '',
      // There is no containerd between this engine and runc.
      ContainerdCommit: { ID: '' },
      RuncCommit: commitOf(runc),
      InitCommit: commitOf(init),
      GenericResources: genericResources.length > 0 ? [...genericResources] : null,
      CDISpecDirs: [...cdiSpecDirs],
      ...(devices.length > 0 && {
        DiscoveredDevices: devices.map((ID) => ({ Source: 'cdi' as const, ID })),
      }),
    };
  }

  #securityOptions(settings: SystemSettings): string[] {
    const { facts } = this.#deps;
    return [
      ...(settings.apparmorProfile === null ? [] : ['name=apparmor']),
      ...(facts.seccomp ? [`name=seccomp,profile=${settings.seccompProfile}`] : []),
      ...(facts.cgroupNamespaces && settings.privateCgroupNamespaces ? ['name=cgroupns'] : []),
      ...(settings.noNewPrivileges ? ['name=no-new-privileges'] : []),
    ];
  }

  #warnings(settings: SystemSettings): string[] | null {
    const { facts, live } = this.#deps;
    const isForwarding = live.isOn(IPV4_FORWARDING);
    const warnings = [
      ...facts.warnings.filter((warning) => !(isForwarding && FORWARDING_WARNING.test(warning))),
      ...settings.warnings,
    ];
    return warnings.length === 0 ? null : warnings;
  }
}

function component(name: string, found: Component | null): VersionResponse['Components'] {
  return found === null
    ? []
    : [
        {
          Name: name,
          Version: found.version,
          Details: found.commit === '' ? {} : { GitCommit: found.commit },
        },
      ];
}

function commitOf(found: Component | null): { ID: string } {
  return { ID: found?.commit || found?.version || '' };
}
