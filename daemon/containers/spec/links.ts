import { invalidArgument } from '../../base/errors.ts';
import type { ContainerLookup } from './namespaces.ts';
import { containerOfMode } from './namespaces.ts';

/** Another container of the default bridge, which this one knows by a name of its own. */
export interface Link {
  /** Full id of the other container. */
  targetId: string;
  alias: string;
}

/** Becomes a word of /etc/hosts and, in capitals, the beginning of variables. */
const ALIAS = /^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$/;
const UNDEFINED_BEHAVIOR = "can't be used with links. This would result in undefined behavior";

/**
 * One entry of Links: `container`, `container:alias`, or `/container:/parent/alias` as inspect shows it. Throws
 * invalid_argument with dockerd's texts. Pure.
 */
export function parseLink(text: string): { ref: string; alias: string } {
  if (text === '') {
    throw invalidArgument('invalid Links: empty string specified for links');
  }
  const [first = '', second = first, ...rest] = text.split(':');
  if (rest.length > 0) {
    throw invalidArgument(`invalid Links: bad format for links: ${text}`);
  }
  const isShown = first.startsWith('/');
  const ref = isShown ? first.slice(1) : first;
  const alias = isShown ? (second.split('/').at(-1) ?? '') : second;
  if (ref === '' || !ALIAS.test(alias)) {
    throw invalidArgument(`invalid Links: bad format for links: ${text}`);
  }
  return { ref, alias };
}

/**
 * The links of a container that is being created. Throws invalid_argument, also for a container that there is not: the
 * docker CLI takes a 404 of create for a missing image.
 */
export function resolveLinks(entries: readonly string[], networkMode: string, find: ContainerLookup): Link[] {
  const links = new Map<string, Link>();
  if (entries.length > 0) {
    refuseOtherNetwork(networkMode);
  }
  for (const text of entries) {
    const { ref, alias } = parseLink(text);
    let target = find(ref);
    for (let owner = target; owner !== undefined;) {
      target = owner;
      const ownerId = containerOfMode(owner.networkMode);
      owner = ownerId === undefined ? undefined : find(ownerId);
    }
    if (target === undefined) {
      throw invalidArgument(`could not get container for ${ref}: No such container: ${ref}`);
    }
    if (target.networkMode === 'host') {
      throw invalidArgument(`conflicting options: host type networking ${UNDEFINED_BEHAVIOR}`);
    }
    const taken = links.get(alias);
    if (taken !== undefined && taken.targetId !== target.id) {
      throw invalidArgument(`invalid Links: two containers are linked as ${alias}: ${text}`);
    }
    links.set(alias, { targetId: target.id, alias });
  }
  return [...links.values()];
}

function refuseOtherNetwork(mode: string): void {
  if (mode === 'host') {
    throw invalidArgument(`conflicting options: host type networking ${UNDEFINED_BEHAVIOR}`);
  }
  if (mode !== 'default' && mode !== 'bridge') {
    throw invalidArgument(
      `conflicting options: Links of HostConfig are of the default bridge, and the NetworkMode is ${mode}`,
    );
  }
}
