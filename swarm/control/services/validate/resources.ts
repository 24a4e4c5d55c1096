import type { ResourceAmounts, TaskSpec } from '../../../../api/types/swarm/task.ts';
import { rpcError } from '../../base/rpc-error.ts';

type Resources = NonNullable<TaskSpec['Resources']>;

const NANO_CPUS_MIN = 1e6;
const MEMORY_BYTES_MIN = 4 * 1024 * 1024;
const NANOS_PER_CPU = 1e9;

/** Throws in swarmkit's words. Pure. */
export function checkResources({ Resources: resources }: TaskSpec): void {
  for (const amounts of [resources?.Limits, resources?.Reservations]) {
    checkAmounts(amounts ?? {});
  }
  checkGeneric(resources?.Reservations ?? {});
  checkSwap(resources ?? {});
}

/** A container with such numbers would be refused on each node, again and again. */
function checkSwap({ Limits, SwapBytes: swap, MemorySwappiness: swappiness }: Resources): void {
  if (typeof swap === 'number' && swap < -1) {
    throw rpcError(
      'InvalidArgument',
      `invalid SwapBytes ${swap}: Must be at least 0, or -1 for unlimited swap`,
    );
  }
  if (typeof swap === 'number' && !Limits?.MemoryBytes) {
    throw rpcError(
      'InvalidArgument',
      `invalid SwapBytes ${swap}: Needs a limit of memory (Limits.MemoryBytes)`,
    );
  }
  if (typeof swappiness === 'number' && (swappiness < 0 || swappiness > 100)) {
    throw rpcError('InvalidArgument', `invalid MemorySwappiness ${swappiness}: Must be 0 to 100`);
  }
}

function checkAmounts({ NanoCPUs: cpus = 0, MemoryBytes: memory = 0 }: ResourceAmounts): void {
  if (cpus !== 0 && cpus < NANO_CPUS_MIN) {
    throw rpcError(
      'InvalidArgument',
      `invalid cpu value ${goNumber(cpus / NANOS_PER_CPU)}: Must be at least 0.001`,
    );
  }
  if (memory !== 0 && memory < MEMORY_BYTES_MIN) {
    throw rpcError('InvalidArgument', `invalid memory value ${memory}: Must be at least 4MiB`);
  }
}

/** Only a count can be reserved: which one it is decides the node. */
function checkGeneric({ GenericResources: generic }: ResourceAmounts): void {
  for (const { NamedResourceSpec: named, DiscreteResourceSpec: discrete } of generic ?? []) {
    if (named) {
      throw rpcError('InvalidArgument', 'invalid argument for resource: Named resources are not supported');
    }
    if (discrete && discrete.Value < 0) {
      throw rpcError(
        'InvalidArgument',
        `invalid argument for resource ${discrete.Kind}: ${discrete.Value} is negative`,
      );
    }
  }
}

/** As Go prints `%g`: with at least two digits of an exponent, which begins below 1e-04. */
function goNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) {
    return String(value);
  }
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}
