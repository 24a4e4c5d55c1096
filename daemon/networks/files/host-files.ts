import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { errnoOf } from '../../base/errors.ts';
import { parseResolvConf } from './resolv.ts';
import type { ResolverSettings } from './resolv.ts';

/** The host's own files, read anew for every sandbox: administrators and DHCP rewrite them. */
export interface HostFiles {
  hosts(): string;
  resolver(): ResolverSettings;
  /** The servers that the host itself asks, its loopback included. Read anew only when the file has changed. */
  nameServers(): readonly string[];
}

const RESOLV_CONF = 'etc/resolv.conf';
/** Where systemd-resolved writes the servers behind its own 127.0.0.53. */
const RESOLVED_CONF = 'run/systemd/resolve/resolv.conf';
const RESOLVED_STUB = '127.0.0.53';

/** Those of the host whose file system begins at `root`. */
export function hostFiles(root = '/'): HostFiles {
  const resolvConf = path.join(root, RESOLV_CONF);
  let servers: { version: string; addresses: readonly string[] } | undefined;
  return {
    hosts: () => readIfThere(path.join(root, 'etc/hosts')),
    resolver: () => {
      const settings = parseResolvConf(readIfThere(resolvConf));
      const [server, ...more] = settings.nameservers;
      return server === RESOLVED_STUB && more.length === 0
        ? parseResolvConf(readIfThere(path.join(root, RESOLVED_CONF)))
        : settings;
    },
    // A stat instead of a read, since this is asked for every question that is forwarded.
    nameServers: () => {
      const stat = statSync(resolvConf, { throwIfNoEntry: false, bigint: true });
      const version = stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
      if (servers?.version !== version) {
        servers = { version, addresses: parseResolvConf(readIfThere(resolvConf)).nameservers };
      }
      return servers.addresses;
    },
  };
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
