import type { StringMap } from '../../../api/types/maps.ts';
import type { Node } from '../state/entries.ts';

/**
 * What the rules of placement read of a node, flat and ready to compare. Made once per change of the node, not once
 * per task. Labels are maps: a label named `__proto__` is a label like any other.
 */
export interface NodeTraits {
  id: string;
  hostname: string;
  /** As the node dialled in, without a port; empty when it never did. */
  address: string;
  role: string;
  platform: Platform;
  labels: ReadonlyMap<string, string>;
  engineLabels: ReadonlyMap<string, string>;
  /** undefined when the node reported none: then nothing can be said about its plugins. */
  plugins: readonly NodePlugin[] | undefined;
}

export interface Platform {
  /** As uname says it (`x86_64`) or as images say it (`amd64`); empty matches all. */
  architecture: string;
  os: string;
}

export interface NodePlugin {
  type: string;
  /** `name` or `name:latest`. */
  name: string;
}

/** The role is that of the node's certificate, not the one that its user wishes for. Pure. */
export function traitsOf({ id, record, state, description }: Node): NodeTraits {
  const engine = description?.Engine;
  return {
    id,
    hostname: description?.Hostname ?? '',
    address: state?.addr ?? '',
    role: state?.role ?? '',
    platform: {
      architecture: description?.Platform?.Architecture ?? '',
      os: description?.Platform?.OS ?? '',
    },
    labels: mapOf(record?.spec.Labels),
    engineLabels: mapOf(engine?.Labels),
    plugins: engine?.Plugins?.map(({ Type, Name }) => ({ type: Type, name: Name })),
  };
}

function mapOf(labels: StringMap | null | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(labels ?? {}));
}
