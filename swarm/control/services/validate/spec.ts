import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { errorText } from '../../../../daemon/base/errors.ts';
import { PREFER_LOCAL, wrongPreference } from '../../../objects/service-labels.ts';
import { checkObjectName } from '../../base/names.ts';
import { rpcError } from '../../base/rpc-error.ts';
import type { ControlContext } from '../../context.ts';
import { checkContainer } from './container.ts';
import { checkDataReferences } from './data-references.ts';
import { checkEndpoint } from './endpoint.ts';
import { checkMode, checkPlacement, checkRestartPolicy, checkUpdateConfig } from './policies.ts';
import { checkResources } from './resources.ts';

/**
 * Throws for a specification that can never be met, in the words and the order of swarmkit's `validateServiceSpec`. It
 * has been normalised. What refers to other objects is not looked at here.
 */
export function checkSpec(
  context: Pick<ControlContext, 'images' | 'checkTemplates'>,
  spec: ServiceSpec,
): void {
  checkObjectName(spec.Name ?? '');
  const { TaskTemplate: task = {} } = spec;
  checkResources(task);
  checkRestartPolicy(task.RestartPolicy ?? {});
  checkPlacement(task);
  if (!task.ContainerSpec) {
    throw rpcError('InvalidArgument', 'TaskSpec: missing runtime');
  }
  checkDataReferences(task.ContainerSpec);
  checkExpansion(context, task);
  checkContainer(context, task.ContainerSpec);
  checkMode(spec);
  checkUpdateConfig(spec.UpdateConfig ?? {});
  checkUpdateConfig(spec.RollbackConfig ?? {});
  checkEndpoint(spec.EndpointSpec ?? {});
  checkLabels(spec);
}

/** Other labels are the users' own. */
function checkLabels(spec: ServiceSpec): void {
  const wrong = wrongPreference(spec);
  if (wrong !== undefined) {
    throw rpcError(
      'InvalidArgument',
      `Labels: ${PREFER_LOCAL}: ${JSON.stringify(wrong)} is neither "true" nor "false"`,
    );
  }
}

function checkExpansion(
  { checkTemplates }: Pick<ControlContext, 'checkTemplates'>,
  task: NonNullable<ServiceSpec['TaskTemplate']>,
): void {
  try {
    checkTemplates(task);
  } catch (error) {
    throw rpcError('InvalidArgument', errorText(error), error);
  }
}
