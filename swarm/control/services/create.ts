import type { ServiceWriteOptions } from '../../../api/types/swarm/ports.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { generateName } from '../../../daemon/base/made-up-name.ts';
import { newSwarmId } from '../../objects/ids.ts';
import { put } from '../../objects/parts.ts';
import { templateId, type ServiceRecord, type TemplateRecord } from '../../objects/service.ts';
import { nameKey } from '../../objects/values.ts';
import { isJob, modeOf } from '../../planner/service-mode.ts';
import { rpcError } from '../base/rpc-error.ts';
import { write, type Decision } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { writeCredentials } from './credentials.ts';
import { useData } from './data-use.ts';
import { knownServices } from './find.ts';
import { useNetworks } from './networks.ts';
import { prepareSpec } from './prepare.ts';
import { refuseUnsupported } from './unsupported.ts';
import { checkPortConflicts } from './validate/endpoint.ts';

export interface ServiceAnswer {
  Warnings?: string[];
}

/** Makes a service; the planner makes its tasks. Answers its id. */
export async function createService(
  context: ControlContext,
  sent: ServiceSpec,
  options: ServiceWriteOptions,
): Promise<{ ID: string } & ServiceAnswer> {
  const { cluster, random } = context;
  const isTaken = (name: string): boolean => cluster.value(nameKey('service', name)) !== undefined;
  const named = { ...sent, Name: sent.Name || generateName(isTaken) };
  const { spec, warnings } = await prepareSpec(context, named, options);
  const id = newSwarmId(random);
  await write(context, {
    decide: () => decideCreation(context, { id, spec, registryAuth: options.registryAuth }),
  });
  return { ID: id, ...(warnings.length > 0 ? { Warnings: warnings } : {}) };
}

function decideCreation(
  context: ControlContext,
  { id, spec, registryAuth }: { id: string; spec: ServiceSpec; registryAuth: string | undefined },
): Decision<void> {
  const { cluster } = context;
  checkPortConflicts(spec.EndpointSpec?.Ports ?? [], knownServices(cluster));
  refuseUnsupported(spec);
  const uses = [useData(cluster, spec), useNetworks(cluster, spec)];
  const name = nameKey('service', spec.Name ?? '');
  if (cluster.value(name) !== undefined) {
    throw rpcError(
      'AlreadyExists',
      `name conflicts with an existing object: service ${spec.Name} already exists`,
    );
  }
  const now = nowMs(context);
  const record: ServiceRecord = {
    id,
    created: now,
    updated: now,
    spec,
    template: 1,
    templatesIssued: 1,
    ...(isJob(modeOf(spec)) ? { job: { iteration: 0, lastExecution: now } } : {}),
  };
  return {
    conditions: [{ key: name, revision: 0 }, ...uses.flatMap(({ conditions }) => conditions)],
    parts: [put('service', record), put('template', templateOf(record))],
    values: [
      { kind: 'put', key: name, value: Buffer.from(id) },
      ...uses.flatMap(({ values }) => values),
      ...writeCredentials(context, id, { current: registryAuth, previous: undefined }),
    ],
    answer: undefined,
  };
}

/** What the service's tasks run from now on. Pure. */
export function templateOf({ id, spec, template }: ServiceRecord): TemplateRecord {
  return {
    id: templateId(id, template),
    task: spec.TaskTemplate ?? {},
    ...(spec.EndpointSpec ? { endpoint: spec.EndpointSpec } : {}),
  };
}
