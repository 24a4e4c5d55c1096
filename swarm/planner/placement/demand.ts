import type { LogDriverSpec, ResourceAmounts, TaskSpec } from '../../../api/types/swarm/task.ts';
import type { TemplateRecord } from '../../objects/service.ts';
import { parseConstraints, type Constraint } from './constraint.ts';
import type { GenericWish } from './generic-supply.ts';
import { isPluginNeeded, type NeededPlugin } from './plugins.ts';
import type { Platform } from './traits.ts';

/** What a task asks of the node it is to run on, read once per template. Limits of resources ask nothing. */
export interface Demand {
  nanoCpus: number;
  memoryBytes: number;
  generic: readonly GenericWish[];
  plugins: readonly NeededPlugin[];
  constraints: readonly Constraint[];
  platforms: readonly Platform[];
  /** `tcp/8080`: published in host mode under a number that the user chose. */
  hostPorts: readonly string[];
  /** 0: no limit. */
  maxReplicas: number;
  /** Keys of labels whose values tasks are spread over, outermost first. */
  spread: readonly string[];
}

export interface DemandContext {
  /** The driver of a network; undefined for one that is not known. */
  driverOf(network: string): string | undefined;
  /** Used by services that name none. */
  logDriver?: LogDriverSpec | null | undefined;
}

/** Never throws: a malformed constraint, which the API refuses, fits no node. Pure. */
export function demandOf({ task, endpoint }: TemplateRecord, context: DemandContext): Demand {
  const placement = task.Placement ?? {};
  const reservations = task.Resources?.Reservations ?? {};
  return {
    nanoCpus: reservations.NanoCPUs ?? 0,
    memoryBytes: reservations.MemoryBytes ?? 0,
    generic: wishesOf(reservations),
    plugins: pluginsOf(task, context).filter(isPluginNeeded),
    constraints: constraintsOf(placement.Constraints ?? []),
    platforms: (placement.Platforms ?? []).map(({ Architecture = '', OS = '' }) => ({
      architecture: Architecture,
      os: OS,
    })),
    hostPorts: (endpoint?.Ports ?? [])
      .filter((port) => port.PublishMode === 'host' && (port.PublishedPort ?? 0) !== 0)
      .map((port) => `${port.Protocol ?? 'tcp'}/${port.PublishedPort}`),
    maxReplicas: placement.MaxReplicas ?? 0,
    spread: (placement.Preferences ?? []).flatMap(({ Spread }) => Spread?.SpreadDescriptor ?? []),
  };
}

function constraintsOf(texts: readonly string[]): Constraint[] {
  try {
    return parseConstraints(texts);
  } catch {
    // One service that was stored wrong must not stop the planning of the others.
    return [{ key: '', operator: '==', value: '' }];
  }
}

/** Tasks reserve numbers only; names are the node's to give. */
function wishesOf({ GenericResources }: ResourceAmounts): GenericWish[] {
  const counts = new Map<string, number>();
  for (const { DiscreteResourceSpec: wish } of GenericResources ?? []) {
    if (wish !== undefined && wish.Value > 0) {
      counts.set(wish.Kind, (counts.get(wish.Kind) ?? 0) + wish.Value);
    }
  }
  return [...counts].map(([kind, count]) => ({ kind, count }));
}

function pluginsOf(task: TaskSpec, context: DemandContext): NeededPlugin[] {
  const log = task.LogDriver ?? context.logDriver;
  return [
    ...(task.ContainerSpec?.Mounts ?? [])
      .filter(({ Type }) => Type === 'volume')
      .map(({ VolumeOptions }) => ({
        type: 'Volume' as const,
        name: VolumeOptions?.DriverConfig?.Name ?? '',
      })),
    ...(task.Networks ?? []).map(({ Target }) => ({
      type: 'Network' as const,
      name: context.driverOf(Target) ?? '',
    })),
    { type: 'Log', name: log?.Name ?? '' },
  ];
}
