import { writeFileSync } from 'node:fs';
import { errnoOf, errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { InterfaceSetting, SandboxInterface } from '../attachment.ts';

/** What is wrong with a value or a name when the kernel refuses it, and not with the host. */
const REFUSED: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EINVAL', 'EACCES', 'EPERM', 'ERANGE']);

/** Whether `tuneInterface` would do anything. */
export function needsTuning(iface: SandboxInterface): boolean {
  return hasIpv6(iface) || iface.settings.length > 0;
}

/**
 * Settings of an interface that has no address yet. Belongs on a thread inside its namespace. Namespaces are born
 * without IPv6; interfaces with such an address get it, and listen to no router, unless their settings say else. Throws
 * invalid_argument naming a setting that the kernel refuses.
 */
export function tuneInterface(iface: SandboxInterface): void {
  if (hasIpv6(iface)) {
    const folder = `/proc/sys/net/ipv6/conf/${iface.name}`;
    writeFileSync(`${folder}/accept_ra`, '0');
    writeFileSync(`${folder}/disable_ipv6`, '0');
  }
  for (const setting of iface.settings) {
    apply(iface.name, setting);
  }
}

function apply(iface: string, { protocol, group, name, value }: InterfaceSetting): void {
  try {
    writeFileSync(`/proc/sys/net/${protocol}/${group}/${iface}/${name}`, value);
  } catch (error) {
    if (REFUSED.has(errnoOf(error))) {
      throw invalidArgument(
        `invalid endpoint settings: sysctl net.${protocol}.${group}.${iface}.${name}=${value}: ${errorText(error)}`,
        { cause: error },
      );
    }
    throw error;
  }
}

function hasIpv6({ addresses, linkLocal }: SandboxInterface): boolean {
  return [...addresses, ...linkLocal].some(({ address }) => !isIpv4(address));
}
