import type { IndexConfig, SystemInfo } from '../../api/types/system.ts';

const HUB = 'docker.io';
const CIDR = /^[0-9a-fA-F.:]+\/\d{1,3}$/;

/** How registries are reached, in the words of `/info`. Loopback is always reached without verified TLS (dockerd). */
export function registryConfig(
  insecureRegistries: readonly string[],
  registryMirrors: readonly string[],
): SystemInfo['RegistryConfig'] {
  const mirrors = registryMirrors.map((mirror) => (mirror.endsWith('/') ? mirror : `${mirror}/`));
  const insecure = insecureRegistries
    .filter((registry) => !CIDR.test(registry))
    .map((registry) => registry.replace(/^https?:\/\//, ''))
    .map((name): [string, IndexConfig] => [
      name,
      { Name: name, Mirrors: [], Secure: false, Official: false },
    ]);
  return {
    InsecureRegistryCIDRs: [
      ...insecureRegistries.filter((registry) => CIDR.test(registry)),
      '::1/128',
      '127.0.0.0/8',
    ],
    IndexConfigs: Object.fromEntries([
      ...insecure,
      [HUB, { Name: HUB, Mirrors: mirrors, Secure: true, Official: true }],
    ]),
    Mirrors: mirrors,
  };
}
