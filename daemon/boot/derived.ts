import { NEWEST, OLDEST, formatVersion } from '../../api/versions/version.ts';
import { isLogDriver } from '../../runtime/log-drivers/drivers.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';
import type { LogDefaults } from '../containers/request/log-config.ts';
import { parseCidr } from '../base/addresses/ipv4.ts';
import { parseCidr6 } from '../base/addresses/ipv6.ts';
import type { EngineDefaults } from '../containers/request/engine-defaults.ts';
import { BUILT_IN_SUPPLIES } from '../networks/ipam/ipam.ts';
import type { NetworkOptions } from '../networks/options.ts';
import type { RegistrySettings } from '../../storage/registry/hosts.ts';
import { parseGenericResources } from '../system/generic-resources.ts';
import type { Build, SystemSettings } from '../system/ports.ts';
import type { Config } from './config/settings.ts';
import type { Instance } from './instance.ts';
import { ENGINE_VERSION } from './version.ts';

/** The settings of each part of the engine, from the configuration. Pure. */

/** `seccomp` is `builtin`, `unconfined` or the JSON of a profile (`seccomp-default.ts`). */
export function engineDefaultsOf(config: Config, seccomp: string): EngineDefaults {
  return {
    shmSizeBytes: config.defaultShmSize,
    ipcMode: config.defaultIpcMode === 'shareable' ? 'shareable' : 'private',
    cgroupnsMode: cgroupnsMode(config.defaultCgroupnsMode),
    init: config.init,
    noNewPrivileges: config.noNewPrivileges,
    runtime: config.defaultRuntime,
    runtimes: Object.keys(config.runtimes),
    log: logDefaultsOf(config),
    ulimits: Object.values(config.defaultUlimits),
    apparmorProfile: apparmorProfile(),
    seccomp,
  };
}

export function logDefaultsOf({ logDriver, logOpts }: Config): LogDefaults {
  // The schema of the setting lets only these through.
  return { driver: isLogDriver(logDriver) ? logDriver : 'json-file', options: logOpts };
}

export function networkOptionsOf(config: Config, instance: Instance): NetworkOptions {
  return {
    hasDefaultNetwork: instance.hasDefaultNetwork,
    bridge: instance.bridge,
    isForeignBridge: instance.isForeignBridge,
    interfacePrefix: instance.interfacePrefix,
    ...(config.bip !== '' && { bip: config.bip }),
    ...(config.fixedCidr !== '' && { fixedCidr: config.fixedCidr }),
    ...(config.defaultGateway !== '' && { defaultGateway: config.defaultGateway }),
    ...(config.defaultGatewayV6 !== '' && { defaultGatewayV6: config.defaultGatewayV6 }),
    networkDefaults: config.defaultNetworkOpts,
    mtu: config.mtu,
    icc: config.icc,
    masquerade: config.ipMasq,
    ipv6: config.ipv6,
    ...(config.fixedCidrV6 !== '' && { fixedCidrV6: config.fixedCidrV6 }),
    ...(config.hostGatewayIp !== '' && { hostGatewayIp: config.hostGatewayIp }),
    ...addressPoolsOf(config),
    ip: config.ip,
    dns: config.dns,
    dnsSearch: config.dnsSearch,
    dnsOpts: config.dnsOptions,
  };
}

function addressPoolsOf(config: Config): Pick<NetworkOptions, 'addressPools' | 'addressPools6'> {
  const asked = config.defaultAddressPools;
  const addressPools = asked.flatMap(({ base, size }) => {
    const cidr = parseCidr(base);
    return cidr === undefined ? [] : [{ base: cidr.subnet, size }];
  });
  const addressPools6 = asked.flatMap(({ base, size }) => {
    const cidr = parseCidr6(base);
    return cidr === undefined ? [] : [{ base: cidr.subnet, size }];
  });
  return { addressPools: addressPools.length === 0 ? BUILT_IN_SUPPLIES : addressPools, addressPools6 };
}

export function systemSettingsOf(config: Config, facts: HostFacts): SystemSettings {
  return {
    debug: config.debug,
    labels: config.labels,
    dataRoot: config.dataRoot,
    storageDriver: config.storageDriver,
    logDriver: config.logDriver,
    defaultRuntime: config.defaultRuntime,
    runtimes: config.runtimes,
    cdiSpecDirs: config.cdiSpecDirs,
    liveRestore: config.liveRestore,
    noNewPrivileges: config.noNewPrivileges,
    seccompProfile: config.seccompProfile,
    apparmorProfile: apparmorProfile(),
    privateCgroupNamespaces:
      (cgroupnsMode(config.defaultCgroupnsMode) || (facts.cgroup.version === 2 ? 'private' : 'host')) ===
      'private',
    insecureRegistries: config.insecureRegistries,
    registryMirrors: config.registryMirrors,
    addressPools: config.defaultAddressPools,
    genericResources: parseGenericResources(config.nodeGenericResources),
    warnings: [],
  };
}

export function buildOf(sqliteVersion: string, stamp: { commit: string; time: string }): Build {
  return {
    version: ENGINE_VERSION,
    apiVersion: formatVersion(NEWEST),
    minApiVersion: formatVersion(OLDEST),
    ...stamp,
    sqliteVersion,
  };
}

function cgroupnsMode(text: string): EngineDefaults['cgroupnsMode'] {
  return text === 'private' || text === 'host' ? text : '';
}

/** No profile is loaded by this engine yet, so containers are unconfined by AppArmor wherever it is on. */
function apparmorProfile(): string | null {
  return null;
}

/** How registries are reached. */
export function registrySettingsOf(config: Config): RegistrySettings {
  return { insecure: config.insecureRegistries, mirrors: config.registryMirrors };
}
