import { readFileSync } from 'node:fs';
import type { PublishedPort } from '../../../runtime/network/firewall/ruleset.ts';
import type { HostPort } from '../../../runtime/network/port-reservations.ts';
import {
  EngineError,
  errnoOf,
  errorText,
  failedPrecondition,
  internal,
  isEngineError,
} from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { formatIp, isIpv4 } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Turns } from '../../base/concurrency/turns.ts';
import type { PlannedBinding } from './port-plan.ts';
import type { NetworkKernel } from '../ports.ts';

const PORT_MAX = 65_535;
/** Where ephemeral host ports come from when the kernel does not say (as dockerd). */
const EPHEMERAL_FALLBACK = { first: 49_153, last: PORT_MAX };

/**
 * Allocates host ports. Ports of the engine's containers are known here; those of processes of the host are found by
 * reserving the port with the kernel.
 */
export class PortAllocator {
  readonly #kernel: Pick<NetworkKernel, 'reserve' | 'release'>;
  readonly #log: Logger;
  /** `tcp/8080` -> host addresses it is taken on. */
  readonly #taken = new Map<string, Set<IpAddress>>();
  /**
   * The last ephemeral port allocated: the next search begins after it, so that a released port is not used again at
   * once.
   */
  #lastEphemeral = 0;

  constructor(deps: { kernel: Pick<NetworkKernel, 'reserve' | 'release'>; log: Logger }) {
    this.#kernel = deps.kernel;
    this.#log = deps.log;
  }

  /** All of the bindings for the container at `addresses`, or none: then it throws what dockerd would say. */
  allocate(
    bindings: readonly PlannedBinding[],
    addresses: readonly IpAddress[],
    endpoint: string,
  ): PublishedPort[] {
    const taken: Taken = new Map();
    try {
      this.#takeThese(leastChoiceFirst(bindings), { addresses, endpoint }, taken);
      return portsOf(bindings, taken);
    } catch (error) {
      this.release(portsOf(bindings, taken));
      throw error;
    }
  }

  /** As `allocate`, with turns for others in between. All or none, as there. */
  async allocateInTurns(
    bindings: readonly PlannedBinding[],
    to: { addresses: readonly IpAddress[]; endpoint: string; turns: Turns },
  ): Promise<PublishedPort[]> {
    const taken: Taken = new Map();
    try {
      await to.turns.inPieces(leastChoiceFirst(bindings), limits.portsPerTurn, (piece) => {
        this.#takeThese(piece, to, taken);
      });
      return portsOf(bindings, taken);
    } catch (error) {
      this.release(portsOf(bindings, taken));
      throw error;
    }
  }

  /** For the host itself rather than for a container: all of them, or none. Then why. */
  hold(ports: readonly HostPort[]): EngineError | undefined {
    return this.#tryTakeAll(ports);
  }

  /** After a restart of the daemon: these ports are in use, even if a process of the host took one in between. */
  retake(ports: readonly PublishedPort[]): void {
    for (const port of ports) {
      this.#mark(port);
      try {
        failpoint('network.restore.port');
        this.#kernel.reserve(port);
      } catch (error) {
        // The container's port still works, since the firewall comes before the process; only the process gets no
        // packets.
        this.#log.warn(
          { port: textOf(port), err: error },
          'published port was taken by a process of the host while the daemon was away',
        );
      }
    }
  }

  /** Idempotent. */
  release(ports: readonly HostPort[]): void {
    for (const port of ports) {
      this.#kernel.release(port);
      const key = keyOf(port);
      const addresses = this.#taken.get(key);
      addresses?.delete(port.hostAddress);
      if (addresses?.size === 0) {
        this.#taken.delete(key);
      }
    }
  }

  #takeThese(
    bindings: readonly PlannedBinding[],
    { addresses, endpoint }: { addresses: readonly IpAddress[]; endpoint: string },
    taken: Taken,
  ): void {
    try {
      for (const binding of bindings) {
        failpoint('network.open.port');
        taken.set(binding, this.#takeOne(binding, targetsOf(binding, addresses)));
      }
    } catch (error) {
      const code = isEngineError(error, 'failed_precondition') ? error.code : 'internal';
      throw new EngineError(
        code,
        `driver failed programming external connectivity on endpoint ${endpoint}: ${errorText(error)}`,
        { cause: error },
      );
    }
  }

  #takeOne(binding: PlannedBinding, targets: readonly Target[]): PublishedPort[] {
    const { protocol, containerPort } = binding;
    let failure: EngineError | undefined;
    for (const hostPort of this.#candidates(binding)) {
      const ports = targets.map((target) => ({ protocol, hostPort, containerPort, ...target }));
      failure = this.#tryTakeAll(ports);
      if (failure === undefined) {
        if (binding.hostPorts === undefined) {
          this.#lastEphemeral = hostPort;
        }
        return ports;
      }
    }
    if (failure !== undefined && binding.hostPorts?.first === binding.hostPorts?.last && binding.hostPorts) {
      throw failure;
    }
    throw failedPrecondition('all ports are allocated', { cause: failure });
  }

  /** The same number on each of several addresses, or on none. */
  #tryTakeAll(ports: readonly HostPort[]): EngineError | undefined {
    const taken: HostPort[] = [];
    try {
      for (const port of ports) {
        const failure = this.#tryTake(port);
        if (failure !== undefined) {
          this.release(taken);
          return failure;
        }
        taken.push(port);
      }
      return undefined;
    } catch (error) {
      this.release(taken);
      throw error;
    }
  }

  /** Undefined = taken; else why not. Throws when another port of the range would not help either. */
  #tryTake(port: HostPort): EngineError | undefined {
    if (this.#isTaken(port)) {
      return failedPrecondition(
        `Bind for ${formatIp(port.hostAddress)}:${port.hostPort} failed: port is already allocated`,
      );
    }
    try {
      this.#kernel.reserve(port);
    } catch (error) {
      if (errnoOf(error) === 'EADDRINUSE') {
        return failedPrecondition(`failed to bind host port ${textOf(port)}: address already in use`, {
          cause: error,
        });
      }
      if (errnoOf(error) === 'EADDRNOTAVAIL') {
        throw failedPrecondition(
          `failed to bind host port ${textOf(port)}: cannot assign requested address`,
          {
            cause: error,
          },
        );
      }
      throw error;
    }
    this.#mark(port);
    return undefined;
  }

  *#candidates(binding: PlannedBinding): Generator<number> {
    const { first, last } = binding.hostPorts ?? ephemeralRange();
    const size = last - first + 1;
    const start =
      binding.hostPorts === undefined && this.#lastEphemeral >= first ? this.#lastEphemeral + 1 : first;
    for (let step = 0; step < size; step += 1) {
      yield first + ((start - first + step) % size);
    }
  }

  #isTaken(port: HostPort): boolean {
    const addresses = this.#taken.get(keyOf(port));
    return (
      addresses !== undefined &&
      [...addresses].some(
        (other) =>
          isIpv4(other) === isIpv4(port.hostAddress) &&
          (isEverywhere(other) || isEverywhere(port.hostAddress) || other === port.hostAddress),
      )
    );
  }

  #mark(port: HostPort): void {
    const key = keyOf(port);
    this.#taken.set(key, (this.#taken.get(key) ?? new Set()).add(port.hostAddress));
  }
}

type Taken = Map<PlannedBinding, PublishedPort[]>;

/** In the client's order. */
function portsOf(bindings: readonly PlannedBinding[], taken: Taken): PublishedPort[] {
  return bindings.flatMap((binding) => taken.get(binding) ?? []);
}

/**
 * One port of the host before several, and these before any: what a binding may choose must not be what another one of
 * the same container needs.
 */
function leastChoiceFirst(bindings: readonly PlannedBinding[]): PlannedBinding[] {
  return bindings.toSorted((one, other) => choiceOf(one) - choiceOf(other));
}

/** How many host ports it could be beside the first. */
function choiceOf({ hostPorts }: PlannedBinding): number {
  return hostPorts === undefined ? PORT_MAX : hostPorts.last - hostPorts.first;
}

type Target = Pick<PublishedPort, 'hostAddress' | 'address'>;

/** Which address of the container each host address leads to. */
function targetsOf(binding: PlannedBinding, addresses: readonly IpAddress[]): Target[] {
  const targets = binding.hostAddresses.flatMap((hostAddress) => {
    const address = addresses.find((each) => isIpv4(each) === isIpv4(hostAddress));
    return address === undefined ? [] : [{ hostAddress, address }];
  });
  if (targets.length === 0) {
    throw internal(
      `port ${binding.port} cannot be published on ${binding.hostAddresses.map(formatIp).join(', ')}: ` +
        'the container has no address of that family',
    );
  }
  return targets;
}

function isEverywhere(address: IpAddress): boolean {
  return address === 0 || address === 0n;
}

function ephemeralRange(): { first: number; last: number } {
  try {
    const [first, last] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/);
    return { first: Number(first), last: Number(last) };
  } catch {
    // Not readable in some sandboxes; dockerd then uses the same numbers.
    return EPHEMERAL_FALLBACK;
  }
}

function keyOf(port: HostPort): string {
  return `${port.protocol}/${port.hostPort}`;
}

function textOf(port: HostPort): string {
  return `${formatIp(port.hostAddress)}:${port.hostPort}/${port.protocol}`;
}
