import type { NodeDescription } from '../../api/types/swarm/node.ts';
import type { SystemInfo } from '../../api/types/system.ts';

/** A node as `GET /info` has it. Pure. */
export function nodeDescription(info: Omit<SystemInfo, 'Swarm'>): NodeDescription {
  const { Volume, Network, Log, Authorization } = info.Plugins;
  const plugins = { Authorization: Authorization ?? [], Log, Network, Volume };
  return {
    Hostname: info.Name,
    Platform: { Architecture: info.Architecture, OS: info.OSType },
    Resources: {
      NanoCPUs: info.NCPU * 1_000_000_000,
      MemoryBytes: info.MemTotal,
      ...(info.GenericResources && { GenericResources: info.GenericResources }),
    },
    Engine: {
      EngineVersion: info.ServerVersion,
      Labels: Object.fromEntries(info.Labels.map((label) => keyAndValue(label))),
      Plugins: Object.entries(plugins).flatMap(([Type, names]) =>
        names.toSorted().map((Name) => ({ Type, Name })),
      ),
    },
  };
}

function keyAndValue(label: string): [string, string] {
  const at = label.indexOf('=');
  return at === -1 ? [label, ''] : [label.slice(0, at), label.slice(at + 1)];
}
