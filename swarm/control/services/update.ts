import type { ServiceUpdateOptions } from '../../../api/types/swarm/ports.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { failedPrecondition, invalidArgument } from '../../../daemon/base/errors.ts';
import { put, type Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { modeOf } from '../../planner/service-mode.ts';
import { rpcError } from '../base/rpc-error.ts';
import { checkVersion, unchanged, write, type Decision } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { templateOf, type ServiceAnswer } from './create.ts';
import { readCredentials, writeCredentials, type Credentials } from './credentials.ts';
import { useData } from './data-use.ts';
import { findService, knownServices } from './find.ts';
import { useNetworks } from './networks.ts';
import { prepareSpec } from './prepare.ts';
import { refuseUnsupported } from './unsupported.ts';
import { checkPortConflicts } from './validate/endpoint.ts';
import { isKnown, type KnownService } from './view.ts';

interface Wish {
  id: string;
  spec: ServiceSpec;
  isRollback: boolean;
  options: ServiceUpdateOptions;
}

/**
 * Replaces a service's specification and keeps the one before, or goes back to that. The planner brings the tasks to
 * it. Every update has a template of its own: what an earlier update came to is not said of this one.
 */
export async function updateService(
  context: ControlContext,
  ref: string,
  sent: ServiceSpec,
  options: ServiceUpdateOptions,
): Promise<ServiceAnswer> {
  const { id } = findService(context.cluster, ref);
  const isRollback = wantsRollback(options);
  checkAuthSource(context, id, options);
  const { spec, warnings } = await prepareSpec(context, sent, options);
  await write(context, { decide: () => decideUpdate(context, { id, spec, isRollback, options }) });
  return warnings.length > 0 ? { Warnings: warnings } : {};
}

async function decideUpdate(
  context: ControlContext,
  { id, spec, isRollback, options }: Wish,
): Promise<Decision<void>> {
  const { cluster } = context;
  const service = knownService(context, id);
  const { record } = service;
  const others = [...knownServices(cluster)].filter((other) => other.id !== id);
  checkPortConflicts(spec.EndpointSpec?.Ports ?? [], others);
  if (modeOf(spec).kind !== modeOf(record.spec).kind) {
    throw rpcError('Unimplemented', 'service mode change is not allowed');
  }
  if (spec.Name !== record.spec.Name) {
    throw rpcError('Unimplemented', 'renaming services is not supported');
  }
  await checkVersion(context, options.version, 'service', id);
  const now = nowMs(context);
  const next = isRollback ? rolledBack(service, now) : updated(record, spec, now);
  refuseUnsupported(next.spec);
  const uses = [useData(cluster, next.spec, record.spec), useNetworks(cluster, next.spec, record.spec)];
  const credentials = isRollback ? swapped : chosen(options);
  return {
    conditions: [unchanged(cluster, 'service', id), ...uses.flatMap(({ conditions }) => conditions)],
    parts: [
      put('service', next),
      put('previousService', { id, spec: record.spec, template: record.template }),
      ...(isRollback ? [] : templateWrites(next)),
    ],
    values: [
      ...uses.flatMap(({ values }) => values),
      ...writeCredentials(context, id, credentials(readCredentials(context, id))),
    ],
    answer: undefined,
  };
}

function updated(record: ServiceRecord, spec: ServiceSpec, now: number): ServiceRecord {
  const { rollback: _rollback, ...rest } = record;
  const template = record.templatesIssued + 1;
  return { ...rest, ...nextJob(record, now), spec, updated: now, template, templatesIssued: template };
}

function rolledBack({ id, record, previous }: KnownService, now: number): ServiceRecord {
  if (previous === undefined) {
    throw rpcError('FailedPrecondition', `service ${id} does not have a previous spec`);
  }
  return {
    ...record,
    ...nextJob(record, now),
    spec: previous.spec,
    updated: now,
    template: previous.template,
    rollback: { message: 'manually requested rollback' },
  };
}

/** Each update of a job is another run of it. */
function nextJob({ job }: ServiceRecord, now: number): Pick<ServiceRecord, 'job'> {
  return job === undefined ? {} : { job: { iteration: job.iteration + 1, lastExecution: now } };
}

function templateWrites(record: ServiceRecord): Write[] {
  return [put('template', templateOf(record))];
}

function swapped({ current, previous }: Credentials): Credentials {
  return { current: previous, previous: current };
}

function chosen({
  registryAuth,
  registryAuthFrom,
}: ServiceUpdateOptions): (known: Credentials) => Credentials {
  return ({ current, previous }) => ({
    current: registryAuth ?? (registryAuthFrom === 'previous-spec' ? previous : current),
    previous: current,
  });
}

function wantsRollback({ rollback }: ServiceUpdateOptions): boolean {
  if (!['', 'none', 'previous'].includes(rollback)) {
    throw invalidArgument(`unrecognized rollback option ${rollback}`);
  }
  return rollback === 'previous';
}

function checkAuthSource(
  context: ControlContext,
  id: string,
  { registryAuth, registryAuthFrom: from }: ServiceUpdateOptions,
): void {
  if (registryAuth !== undefined) {
    return;
  }
  if (!['', 'spec', 'previous-spec'].includes(from)) {
    throw invalidArgument('unsupported registryAuthFrom value');
  }
  if (from === 'previous-spec' && knownService(context, id).previous === undefined) {
    throw failedPrecondition('service does not have a previous spec');
  }
}

/** It may have been removed since it was looked up. */
export function knownService({ cluster }: Pick<ControlContext, 'cluster'>, id: string): KnownService {
  const service = cluster.state.services.get(id);
  if (!isKnown(service)) {
    throw rpcError('NotFound', `service ${id} not found`);
  }
  return service;
}
