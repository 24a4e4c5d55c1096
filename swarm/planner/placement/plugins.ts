import type { NodePlugin } from './traits.ts';

/** A driver that a task cannot do without. */
export interface NeededPlugin {
  type: 'Network' | 'Volume' | 'Log';
  name: string;
}

/** Names that ask for no plugin: what every engine has, or that the engine shall choose. */
const NOT_ASKED_FOR: Readonly<Record<NeededPlugin['type'], ReadonlySet<string>>> = {
  Network: new Set(['']),
  Volume: new Set(['', 'local']),
  Log: new Set(['', 'none']),
};

/** Whether a task must ask for this driver at all. */
export function isPluginNeeded({ type, name }: NeededPlugin): boolean {
  return !NOT_ASKED_FOR[type].has(name);
}

/**
 * Whether a node has all of them. A node that reports no plugins, or no log drivers at all, is not judged by these: it
 * is older than the report.
 */
export function pluginsFit(
  needed: readonly NeededPlugin[],
  reported: readonly NodePlugin[] | undefined,
): boolean {
  if (reported === undefined) {
    return true;
  }
  return needed.every(({ type, name }) => {
    const ofType = reported.filter((plugin) => plugin.type === type);
    return (
      ofType.some((plugin) => plugin.name === name || plugin.name === `${name}:latest`) ||
      (type === 'Log' && ofType.length === 0)
    );
  });
}
