import { readFileSync } from 'node:fs';
import { errnoOf } from '../base/errors.ts';
import { parseResolvConf } from './resolv.ts';
import type { ResolverSettings } from './resolv.ts';

/** The host's own files, read anew for every sandbox: people edit them, DHCP rewrites them. */
export interface HostFiles {
  hosts(): string;
  resolver(): ResolverSettings;
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
};

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
