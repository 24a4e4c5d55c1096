import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import type {
  EndpointSpec,
  PortConfig,
  ServiceMode,
  ServiceSpec,
  UpdateConfig,
} from '../../../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../../../api/types/swarm/task.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { rpcError } from '../../base/rpc-error.ts';
import { pruned } from './prune.ts';

/**
 * A specification as it is stored: as it was sent, without what says nothing, with a mode, and with the words for what
 * counts wherever a choice is begun and not made. Throws invalid_argument for words that are none, in the words of
 * dockerd's own reading, which have no prefix. Pure.
 */
export function normaliseSpec(spec: ServiceSpec): ServiceSpec {
  const { UpdateConfig: update, RollbackConfig: rollback, EndpointSpec: endpoint, ...rest } = spec;
  const { Runtime: runtime = '' } = spec.TaskTemplate ?? {};
  if (runtime === 'plugin' || runtime === 'attachment') {
    throw rpcError('Unimplemented', `TaskTemplate.Runtime ${runtime} is not supported`);
  }
  if (runtime !== '' && runtime !== 'container') {
    throw invalidArgument('unsupported runtime');
  }
  return {
    ...rest,
    Name: spec.Name ?? '',
    Labels: spec.Labels ?? {},
    TaskTemplate: normaliseTask(spec.TaskTemplate ?? {}),
    Mode: normaliseMode(spec.Mode ?? {}),
    ...(update ? { UpdateConfig: normaliseUpdate(update) } : {}),
    ...(rollback ? { RollbackConfig: normaliseUpdate(rollback) } : {}),
    ...(endpoint ? { EndpointSpec: normaliseEndpoint(endpoint) } : {}),
  };
}

function normaliseTask({ Runtime: _runtime, ...sent }: TaskSpec): TaskSpec {
  const task = pruned(sent);
  const { RestartPolicy: restart, ContainerSpec: container } = task;
  return {
    ...task,
    ...(container ? { ContainerSpec: normaliseContainer(container) } : {}),
    ...(restart
      ? {
          RestartPolicy: {
            ...restart,
            Condition: oneOf(restart.Condition, 'any', ['none', 'on-failure', 'any'], (word) =>
              invalidArgument(`invalid RestartCondition: ${JSON.stringify(word)}`),
            ),
          },
        }
      : {}),
  };
}

/** What is shown for no isolation at all is none. */
function normaliseContainer({ Isolation: isolation, ...container }: ContainerSpec): ContainerSpec {
  return isolation === undefined || isolation === 'default'
    ? container
    : { ...container, Isolation: isolation };
}

function normaliseMode(mode: ServiceMode): ServiceMode {
  // A client's JSON may have them all.
  const given = Object.values(mode).filter((each) => each !== undefined && each !== null);
  if (given.length > 1) {
    throw invalidArgument('must specify only one service mode');
  }
  if (mode.Global) {
    return { Global: {} };
  }
  if (mode.GlobalJob) {
    return { GlobalJob: {} };
  }
  if (mode.ReplicatedJob) {
    const concurrent = mode.ReplicatedJob.MaxConcurrent ?? 1;
    return {
      ReplicatedJob: {
        MaxConcurrent: concurrent,
        TotalCompletions: mode.ReplicatedJob.TotalCompletions ?? concurrent,
      },
    };
  }
  return { Replicated: { Replicas: mode.Replicated?.Replicas ?? 1 } };
}

function normaliseUpdate(config: UpdateConfig): UpdateConfig {
  return {
    ...config,
    Parallelism: config.Parallelism ?? 0,
    FailureAction: oneOf(config.FailureAction, 'pause', ['pause', 'continue', 'rollback'], (word) =>
      invalidArgument(`unrecognized update failure action ${word}`),
    ),
    MaxFailureRatio: config.MaxFailureRatio ?? 0,
    Order: oneOf(config.Order, 'stop-first', ['stop-first', 'start-first'], (word) =>
      invalidArgument(`unrecognized update order ${word}`),
    ),
  };
}

function normaliseEndpoint(endpoint: EndpointSpec): EndpointSpec {
  const { Ports: ports } = endpoint;
  return {
    Mode: oneOf(endpoint.Mode, 'vip', ['vip', 'dnsrr'], (word) =>
      invalidArgument(`invalid resolution mode: ${JSON.stringify(word)}`),
    ),
    ...(ports && ports.length > 0 ? { Ports: ports.map(normalisePort) } : {}),
  };
}

function normalisePort(port: PortConfig): PortConfig {
  return {
    ...pruned(port),
    Protocol: oneOf(port.Protocol, 'tcp', ['tcp', 'udp', 'sctp'], (word) =>
      invalidArgument(`invalid protocol of a published port: ${JSON.stringify(word)}`),
    ),
    PublishMode: oneOf(port.PublishMode, 'ingress', ['ingress', 'host'], (word) =>
      invalidArgument(`invalid publish mode: ${JSON.stringify(word)}`),
    ),
  };
}

/** The word given, or the one that no word stands for. The type says what it may be; a client may send anything. */
function oneOf<W extends string>(
  given: W | undefined,
  unset: W,
  known: readonly W[],
  problem: (word: string) => Error,
): W {
  const word: string = given ?? '';
  if (word === '') {
    return unset;
  }
  const found = known.find((each) => each === word);
  if (found === undefined) {
    throw problem(word);
  }
  return found;
}
