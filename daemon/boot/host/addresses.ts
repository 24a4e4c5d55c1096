import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Address, TlsFiles } from '../../../api/listen.ts';
import { errorText, invalidArgument, unreachable } from '../../base/errors.ts';
import { usesTls } from '../config/checks.ts';
import { parseHost, parseListenAddress } from '../config/hosts.ts';
import type { Config } from '../config/settings.ts';
import type { PassedSocket } from '../listen-fds.ts';

export interface AddressFacts {
  passed: readonly PassedSocket[];
  /** Contents of /etc/group. */
  groups: string;
  /** Contents of a file; throws when it cannot be read. */
  readFile(path: string): string;
}

/** Where the API listens, and what to warn the operator of. Throws invalid_argument that names the setting. */
export function addresses(config: Config, facts: AddressFacts): { addresses: Address[]; warnings: string[] } {
  const hosts = config.hosts.map((text) => parseHost(text, { tls: usesTls(config) }));
  const gid = groupId(config.group, facts.groups);
  const found = hosts.flatMap((host): Address[] => {
    switch (host.kind) {
      case 'unix':
        return [{ kind: 'unix', path: host.path, gid: gid ?? 0 }];
      case 'fd':
        return passedFor(host.name, facts.passed).map(({ fd }) => ({ kind: 'inherited', fd }));
      case 'tcp':
        return [
          {
            kind: 'tcp',
            host: host.host,
            port: host.port,
            ...(config.tlsVerify && { tls: tlsFiles(config, facts) }),
          },
        ];
      default:
        return unreachable(host);
    }
  });
  const isGroupMissing = gid === undefined && hosts.some(({ kind }) => kind === 'unix');
  return {
    addresses: found,
    warnings: [
      ...(isGroupMissing ? [`group ${config.group} does not exist: only root can use the Unix socket`] : []),
      ...(parseListenAddress('metrics-addr', config.metricsAddr)?.isLoopback === false
        ? [
            `metrics-addr: ${config.metricsAddr} can be reached from other machines, without TLS or a password`,
          ]
        : []),
    ],
  };
}

/** Makes the directories of Unix sockets. */
export function prepareDirectories(list: readonly Address[]): void {
  for (const address of list) {
    if (address.kind === 'unix') {
      mkdirSync(dirname(address.path), { recursive: true });
    }
  }
}

function passedFor(name: string | null, passed: readonly PassedSocket[]): PassedSocket[] {
  const found = passed.filter((socket) => name === null || socket.name === name);
  if (found.length === 0) {
    throw invalidArgument(
      `hosts: fd://${name ?? ''}: systemd passed no such socket (is berth.socket enabled and started?)`,
    );
  }
  return found;
}

function tlsFiles(config: Config, { readFile }: Pick<AddressFacts, 'readFile'>): TlsFiles {
  const read = (key: string, path: string): string => {
    try {
      return readFile(path);
    } catch (error) {
      throw invalidArgument(`${key}: ${errorText(error)}`, { cause: error });
    }
  };
  return {
    certificate: read('tlscert', config.tlsCert),
    key: read('tlskey', config.tlsKey),
    ca: read('tlscacert', config.tlsCaCert),
  };
}

/** Number of a group, or the number itself; empty = root's. Undefined when there is no such group. */
function groupId(group: string, groups: string): number | undefined {
  if (group === '') {
    return 0;
  }
  if (/^\d{1,9}$/.test(group)) {
    return Number(group);
  }
  const entry = groups.split('\n').find((line) => line.startsWith(`${group}:`));
  const gid = Number(entry?.split(':')[2] || Number.NaN);
  return Number.isInteger(gid) ? gid : undefined;
}
