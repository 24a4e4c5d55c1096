import type { PortConfig } from '../../../api/types/swarm/service.ts';
import { put, type Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { isJob, modeOf } from '../service-mode.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Service } from '../state/entries.ts';
import { isIngress, portClaim } from '../state/port-claim.ts';

/** Where ports of the routing mesh are taken from for those that name none. */
const DYNAMIC_FIRST = 30_000;
const DYNAMIC_LAST = 32_767;

/**
 * Published ports of a service: the ones that were asked for, and free ones where none was. A service keeps what it was
 * given. Host mode ports are the nodes' own. What is taken is read off the services: there is no other book.
 */
export function allocatePorts(state: ClusterState, service: Service, record: ServiceRecord): Write[] {
  const wanted = record.spec.EndpointSpec?.Ports ?? [];
  const { run } = service;
  const isUpToDate = run?.portsOf === record.template && run.portsError === undefined;
  const isNothing = wanted.length === 0 && run?.ports === undefined && run?.portsError === undefined;
  if (isUpToDate || isNothing || isJob(modeOf(record.spec))) {
    return [];
  }
  const { ports: _ports, portsError: _error, ...rest } = run ?? { id: service.id };
  const chosen = choosePorts(state, service, wanted);
  if (typeof chosen === 'string') {
    return run?.portsError === chosen
      ? []
      : [put('serviceRun', { ...rest, ...(run?.ports ? { ports: run.ports } : {}), portsError: chosen })];
  }
  return [
    put('serviceRun', { ...rest, ...(chosen.length > 0 ? { ports: chosen } : {}), portsOf: record.template }),
  ];
}

/** The ports in the order asked for, or why not all can be given. */
function choosePorts(
  state: ClusterState,
  service: Service,
  wanted: readonly PortConfig[],
): PortConfig[] | string {
  const own = new Set<string>();
  const isFree = (claim: string): boolean =>
    !own.has(claim) && [...state.portUsers(claim)].every((user) => user === service);
  const chosen = new Map<PortConfig, PortConfig>();
  // What was named comes first, so that nothing dynamic takes it.
  for (const port of wanted.filter((each) => portClaim(each) !== undefined)) {
    const claim = portClaim(port) ?? '';
    if (!isFree(claim)) {
      const [user] = state.portUsers(claim);
      const name = user?.record?.spec.Name ?? '';
      const by = `service '${name}' (${user?.id ?? ''})`;
      return `port '${port.PublishedPort}' is already in use by ${by} as an ingress port`;
    }
    own.add(claim);
  }
  const free = new FreePorts(service, isFree);
  for (const port of wanted.filter((each) => isIngress(each) && !each.PublishedPort)) {
    const given = free.choose(port);
    if (given === undefined) {
      return `no ingress port is free between ${DYNAMIC_FIRST} and ${DYNAMIC_LAST}`;
    }
    own.add(portClaim(given) ?? '');
    chosen.set(port, given);
  }
  return wanted.map((port) => chosen.get(port) ?? port);
}

/** Numbers for ports that name none. None becomes free meanwhile, so each is looked at once. */
class FreePorts {
  readonly #isFree: (claim: string) => boolean;
  /** What the service had, by the port that it was for. */
  readonly #before = new Map<string, number[]>();
  /** By protocol, the lowest that may be free. */
  readonly #next = new Map<string, number>();

  constructor({ run }: Service, isFree: (claim: string) => boolean) {
    this.#isFree = isFree;
    for (const port of (run?.ports ?? []).filter(isIngress)) {
      const { PublishedPort = 0 } = port;
      if (PublishedPort >= DYNAMIC_FIRST) {
        const numbers = this.#before.get(samePort(port));
        if (numbers === undefined) {
          this.#before.set(samePort(port), [PublishedPort]);
        } else {
          numbers.push(PublishedPort);
        }
      }
    }
  }

  /** The number that the same port had before, or the lowest that is free; undefined where none is. */
  choose(port: PortConfig): PortConfig | undefined {
    const before = this.#before.get(samePort(port)) ?? [];
    for (let number = before.shift(); number !== undefined; number = before.shift()) {
      const given = this.#given(port, number);
      if (given !== undefined) {
        return given;
      }
    }
    const protocol = port.Protocol ?? 'tcp';
    for (let number = this.#next.get(protocol) ?? DYNAMIC_FIRST; number <= DYNAMIC_LAST; number += 1) {
      this.#next.set(protocol, number);
      const given = this.#given(port, number);
      if (given !== undefined) {
        return given;
      }
    }
    return undefined;
  }

  /** The port with this number, if it is free. */
  #given(port: PortConfig, PublishedPort: number): PortConfig | undefined {
    const given = { ...port, PublishedPort };
    return this.#isFree(portClaim(given) ?? '') ? given : undefined;
  }
}

/** What a port has in common with what it was before an update. */
function samePort({ TargetPort, Protocol = 'tcp', Name }: PortConfig): string {
  return JSON.stringify([TargetPort, Protocol, Name]);
}
