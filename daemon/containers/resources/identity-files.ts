import { writeFileSync } from 'node:fs';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { hostsWithLinks } from './links.ts';
import { containerFiles } from './container-files.ts';

/**
 * Writes what is mounted over /etc/hostname, /etc/hosts and /etc/resolv.conf. In place, never by renaming: a running
 * container that shares them sees the same files. Another container's network brings that container's files.
 */
export function writeIdentityFiles(context: ContainerContext, container: Container, sandbox: Sandbox): void {
  if (sandbox.ownerId !== container.id) {
    return;
  }
  const files = containerFiles(context.dataRoot, container.id);
  writeFileSync(files.hostname, `${container.spec.config.Hostname ?? ''}\n`, { mode: 0o644 });
  writeFileSync(files.hosts, hostsWithLinks(context, container, sandbox), { mode: 0o644 });
  writeFileSync(files.resolvConf, sandbox.resolvConf, { mode: 0o644 });
}
