import { invalidArgument } from '../../base/errors.ts';
import type { Link } from './container-spec.ts';
import type { ContainerLookup, OtherContainer } from './namespaces.ts';
import { containerOfMode } from './namespaces.ts';

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
  // `/container:/parent/alias` is what inspect shows; with a slash on the right side alone the same is meant.
  const ref = first.replace(/^\//, '');
  const alias = second.startsWith('/') ? (second.split('/').at(-1) ?? '') : second;
  if (ref === '' || !ALIAS.test(alias)) {
    throw invalidArgument(`invalid Links: bad format for links: ${text}`);
  }
  return { ref, alias };
}

/**
 * The links of a container that is being created, in the default bridge or `none`. In a network of a user they are of
 * no effect, as with dockerd: names there are those of the endpoint. Throws invalid_argument, also for a container that
 * there is not: the docker CLI takes a 404 of create for a missing image.
 */
export function resolveLinks(
  entries: readonly string[],
  networkMode: string,
  find: ContainerLookup,
): { links: Link[]; warnings: string[] } {
  if (entries.length === 0 || isOfUser(networkMode)) {
    return { links: [], warnings: [] };
  }
  if (networkMode === 'host') {
    throw invalidArgument(`conflicting options: host type networking ${UNDEFINED_BEHAVIOR}`);
  }
  const links = new Map<string, Link>();
  const warnings: string[] = [];
  for (const text of entries) {
    const { ref, alias } = parseLink(text);
    const target = networkOwner(ref, find);
    if (target === undefined) {
      throw invalidArgument(`could not get container for ${ref}: No such container: ${ref}`);
    }
    if (target.networkMode === 'host') {
      throw invalidArgument(`conflicting options: host type networking ${UNDEFINED_BEHAVIOR}`);
    }
    const taken = links.get(alias);
    if (taken === undefined) {
      links.set(alias, { targetId: target.id, alias });
    } else if (taken.targetId !== target.id) {
      warnings.push(`Link ${text} is ignored: the alias ${alias} is that of a link before it.`);
    }
  }
  return { links: [...links.values()], warnings };
}

export function isOfUser(networkMode: string): boolean {
  return (
    !['', 'default', 'bridge', 'none', 'host'].includes(networkMode) &&
    containerOfMode(networkMode) === undefined
  );
}

/** The container itself, or the one whose network it is in, through others if need be. */
function networkOwner(ref: string, find: ContainerLookup): OtherContainer | undefined {
  const met = new Set<string>();
  let found = find(ref);
  while (found !== undefined && !met.has(found.id)) {
    met.add(found.id);
    const next = containerOfMode(found.networkMode);
    if (next === undefined) {
      return found;
    }
    found = find(next);
  }
  return undefined;
}
