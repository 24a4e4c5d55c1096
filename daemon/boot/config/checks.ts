import { errorText, invalidArgument } from '../../base/errors.ts';
import { normaliseLogConfig } from '../../containers/request/log-config.ts';
import { isIP } from 'node:net';
import { parseProxy, PROXY_FORM, withoutCredentials } from '../../base/http/proxies.ts';
import { isSubnet4, parseAnyCidr } from '../../base/addresses/ip.ts';
import { bridgeOptions } from '../../networks/drivers/bridge-options.ts';
import { parentOptions } from '../../networks/drivers/parent-options.ts';
import { parseHost, parseListenAddress } from './hosts.ts';
import { parseGenericResources } from '../../system/generic-resources.ts';
import { policyProblem } from '../../build/cache/policy.ts';
import type { Config } from './settings.ts';

interface Rule {
  isBroken(config: Config): boolean;
  problem(config: Config): string;
}

/** Rules beyond the schema of one setting: pairs of settings, and values that dockerd has and this engine refuses. */
const RULES: readonly Rule[] = [
  {
    isBroken: (config) => !config.liveRestore,
    problem: () =>
      'live-restore: false is not supported: containers belong to their monitors and outlive berthd, always',
  },
  {
    isBroken: (config) => config.userlandProxy,
    problem: () => 'userland-proxy: true is not supported: ports are published by nftables alone',
  },
  {
    isBroken: (config) => !config.iptables || !config.ip6tables,
    problem: ({ iptables }) =>
      `${iptables ? 'ip6tables' : 'iptables'}: false is not supported: without rules every container is open to all`,
  },
  {
    isBroken: (config) => config.fixedCidrV6 !== '' && !config.ipv6,
    problem: ({ fixedCidrV6 }) => `fixed-cidr-v6: ${fixedCidrV6} needs ipv6: true`,
  },
  {
    isBroken: ({ hostGatewayIp }) => hostGatewayIp !== '' && isIP(hostGatewayIp) === 0,
    problem: ({ hostGatewayIp }) => `host-gateway-ip: ${hostGatewayIp} is not an IP address`,
  },
  {
    isBroken: (config) => poolProblem(config) !== undefined,
    problem: (config) => `default-address-pools: ${poolProblem(config)}`,
  },
  {
    isBroken: ({ runtimes }) => (runtimes['runc']?.runtimeArgs ?? []).length > 0,
    problem: () => 'runtimes: runc takes no runtimeArgs: give a runtime with arguments a name of its own',
  },
  {
    isBroken: ({ runtimes, defaultRuntime }) => defaultRuntime !== 'runc' && !(defaultRuntime in runtimes),
    problem: ({ defaultRuntime }) => `default-runtime: ${defaultRuntime} is not among runtimes`,
  },
  {
    // A number is held against the schema, a text like "0k" only here.
    isBroken: ({ defaultShmSize }) => defaultShmSize < 1,
    problem: () => 'default-shm-size: must be at least one byte',
  },
  {
    isBroken: ({ builder }) => policyProblem(builder.gc) !== undefined,
    problem: ({ builder }) => `builder.gc.policy: ${policyProblem(builder.gc)}`,
  },
  {
    isBroken: ({ hosts }) => hosts.length === 0,
    problem: () => 'hosts: the daemon must listen somewhere',
  },
  {
    isBroken: (config) => config.tls && !config.tlsVerify,
    problem: () => 'tls: not supported without tlsverify: who connects is root here and must show who it is',
  },
  {
    isBroken: (config) => config.tlsVerify && [config.tlsCaCert, config.tlsCert, config.tlsKey].includes(''),
    problem: () => 'tlsverify: needs tlscacert (the authority of the clients), tlscert and tlskey',
  },
  {
    isBroken: (config) => openHost(config) !== undefined,
    problem: (config) =>
      `hosts: ${openHost(config)} can be reached from other machines: it needs tlsverify (who reaches it is root here)`,
  },
  {
    isBroken: (config) => config.bridge !== '' && config.bip !== '',
    problem: () => 'bip: cannot be combined with bridge: a bridge of your own brings its address',
  },
  {
    isBroken: (config) => config.defaultGatewayV6 !== '' && !config.ipv6,
    problem: ({ defaultGatewayV6 }) => `default-gateway-v6: ${defaultGatewayV6} needs ipv6: true`,
  },
  {
    isBroken: (config) => networkOptionProblem(config) !== undefined,
    problem: (config) => `default-network-opts: ${networkOptionProblem(config)}`,
  },
  {
    isBroken: (config) => logProblem(config) !== undefined,
    problem: (config) => `log-opts: ${logProblem(config)}`,
  },
  {
    isBroken: (config) => genericResourcesProblem(config) !== undefined,
    problem: (config) => `node-generic-resources: ${genericResourcesProblem(config)}`,
  },
  {
    isBroken: (config) => proxyProblem(config) !== undefined,
    problem: (config) => proxyProblem(config) ?? '',
  },
  {
    isBroken: ({ hubTlsCert, hubTlsKey }) => (hubTlsCert === '') !== (hubTlsKey === ''),
    problem: () => 'hub.tls-cert, hub.tls-key: neither goes without the other',
  },
  {
    isBroken: (config) => config.hubAddress === '' && (config.hubUrl !== '' || config.hubTlsCert !== ''),
    problem: () => 'hub.address: is missing: without it there is no hub',
  },
  {
    isBroken: ({ hubAddress, hubTlsCert }) => hubTlsCert === '' && isOpen('hub.address', hubAddress),
    problem: ({ hubAddress }) =>
      `hub.address: ${hubAddress} can be reached from other machines: it needs hub.tls-cert and hub.tls-key ` +
      '(tokens go over it)',
  },
  {
    isBroken: ({ clusterTlsCert, clusterTlsKey }) => (clusterTlsCert === '') !== (clusterTlsKey === ''),
    problem: () => 'cluster.tls-cert, cluster.tls-key: neither goes without the other',
  },
  {
    isBroken: ({ clusterTlsCert, clusterTlsClientCa }) => clusterTlsClientCa !== '' && clusterTlsCert === '',
    problem: () => 'cluster.tls-client-ca: needs cluster.tls-cert and cluster.tls-key',
  },
  {
    isBroken: (config) =>
      config.clusterAddress === '' && (config.clusterTlsCert !== '' || config.clusterTlsKey !== ''),
    problem: () => 'cluster.address: is missing: without it there is no cluster interface',
  },
  {
    isBroken: ({ clusterAddress, clusterTlsCert }) =>
      clusterTlsCert === '' && isOpen('cluster.address', clusterAddress),
    problem: ({ clusterAddress }) =>
      `cluster.address: ${clusterAddress} can be reached from other machines: it needs cluster.tls-cert and ` +
      'cluster.tls-key (tokens go over it)',
  },
  {
    isBroken: ({ clusterAddress, clusterTlsClientCa, hubAddress }) =>
      clusterAddress !== '' && clusterTlsClientCa === '' && hubAddress === '',
    problem: () =>
      'cluster.address: nobody could be let in: it needs hub.address, whose tokens count, or cluster.tls-client-ca',
  },
  {
    isBroken: (config) => config.dataRoot === '/' || config.execRoot === '/',
    problem: () => 'data-root, exec-root: cannot be /',
  },
  {
    isBroken: (config) =>
      isBelow(config.dataRoot, config.execRoot) || isBelow(config.execRoot, config.dataRoot),
    problem: (config) =>
      `exec-root: ${config.execRoot} and data-root ${config.dataRoot} must not lie in each other`,
  },
];

/** What is wrong with the options of the default log driver. */
function logProblem({ logDriver, logOpts }: Config): string | undefined {
  try {
    normaliseLogConfig({ Type: logDriver, Config: logOpts }, { driver: 'json-file', options: {} });
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

function genericResourcesProblem({ nodeGenericResources }: Config): string | undefined {
  try {
    parseGenericResources(nodeGenericResources);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** What every network of a driver would be refused for. */
function networkOptionProblem({ defaultNetworkOpts }: Config): string | undefined {
  try {
    for (const [driver, options] of Object.entries(defaultNetworkOpts)) {
      checkNetworkOptions(driver, options);
    }
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

function checkNetworkOptions(driver: string, options: Readonly<Record<string, string>>): void {
  switch (driver) {
    case 'bridge':
      bridgeOptions(options);
      break;
    case 'macvlan':
    case 'ipvlan':
      parentOptions(driver, options);
      break;
    default:
      throw invalidArgument(`there is no network driver ${JSON.stringify(driver)}`);
  }
}

/** What is wrong with the address of a proxy. */
function proxyProblem({ httpProxy, httpsProxy }: Config): string | undefined {
  const wrong = Object.entries({ 'http-proxy': httpProxy, 'https-proxy': httpsProxy }).find(
    ([, text]) => text !== '' && parseProxy(text) === undefined,
  );
  return (
    wrong && `${wrong[0]}: must look like ${PROXY_FORM}, not ${JSON.stringify(withoutCredentials(wrong[1]))}`
  );
}

/** Why no subnet could be cut from one of the pools. */
function poolProblem({ defaultAddressPools }: Config): string | undefined {
  for (const { base, size } of defaultAddressPools) {
    const cidr = parseAnyCidr(base);
    const max = cidr !== undefined && isSubnet4(cidr.subnet) ? 30 : 126;
    if (cidr === undefined || size > max || size < cidr.subnet.prefixLength) {
      return `${base} cannot be cut into pieces of /${size}`;
    }
  }
  return undefined;
}

/** Throws invalid_argument with the first broken rule. */
export function checkConfig(config: Config): void {
  for (const host of config.hosts) {
    parseHost(host, { tls: usesTls(config) });
  }
  parseListenAddress('metrics-addr', config.metricsAddr);
  parseListenAddress('hub.address', config.hubAddress);
  parseListenAddress('cluster.address', config.clusterAddress);
  const broken = RULES.find((rule) => rule.isBroken(config));
  if (broken !== undefined) {
    throw invalidArgument(broken.problem(config));
  }
}

/** True when TCP speaks TLS. */
export function usesTls(config: Config): boolean {
  return config.tls || config.tlsVerify;
}

/** A TCP address that other hosts can reach without a certificate. */
function openHost(config: Config): string | undefined {
  return config.tlsVerify
    ? undefined
    : config.hosts.find((text) => {
        const host = parseHost(text, { tls: usesTls(config) });
        return host.kind === 'tcp' && !host.isLoopback;
      });
}

/** An address that other hosts reach. */
function isOpen(setting: string, address: string): boolean {
  return parseListenAddress(setting, address)?.isLoopback === false;
}

function isBelow(path: string, parent: string): boolean {
  return `${path}/`.startsWith(`${parent.replace(/\/+$/, '')}/`);
}
