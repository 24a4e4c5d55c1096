import { readFileSync, statSync } from 'node:fs';
import { errnoOf } from '../base/errors.ts';
import { parseResolvConf } from './resolv.ts';
import type { ResolverSettings } from './resolv.ts';

/** The host's own files, read anew for every sandbox: people edit them, DHCP rewrites them. */
export interface HostFiles {
  hosts(): string;
  resolver(): ResolverSettings;
  /** The servers that the host itself asks, its loopback included. Read anew only when the file has changed. */
  nameServers(): readonly string[];
}

const RESOLV_CONF = '/etc/resolv.conf';
/** Where systemd-resolved writes the servers behind its own 127.0.0.53. */
const RESOLVED_CONF = '/run/systemd/resolve/resolv.conf';
const RESOLVED_STUB = '127.0.0.53';

export const hostFiles: HostFiles = {
  hosts: () => readIfThere('/etc/hosts'),
  resolver: () => {
    const settings = parseResolvConf(readIfThere(RESOLV_CONF));
    const [server, ...more] = settings.nameservers;
    return server === RESOLVED_STUB && more.length === 0
      ? parseResolvConf(readIfThere(RESOLVED_CONF))
      : settings;
  },
  nameServers: cachedServers,
};

let servers: { version: string; addresses: readonly string[] } | undefined;

/** A stat instead of a read, since this is asked for every question that is forwarded. */
function cachedServers(): readonly string[] {
  const stat = statSync(RESOLV_CONF, { throwIfNoEntry: false, bigint: true });
  const version = stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
  if (servers?.version !== version) {
    servers = { version, addresses: parseResolvConf(readIfThere(RESOLV_CONF)).nameservers };
  }
  return servers.addresses;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      // A host without it (a minimal system): as if it were empty.
      return '';
    }
    throw error;
  }
}
