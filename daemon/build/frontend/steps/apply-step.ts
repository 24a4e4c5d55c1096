import { unreachable } from '../../../base/errors.ts';
import { located } from '../located.ts';
import { argStep } from './arg-step.ts';
import {
  cmdStep,
  entrypointStep,
  envStep,
  healthcheckStep,
  labelStep,
  maintainerStep,
  onbuildStep,
  shellStep,
  stopSignalStep,
  userStep,
  volumeStep,
} from './config-steps.ts';
import type { StepContext } from './context.ts';
import { exposeStep } from './expose-step.ts';
import { filesStep } from './files-step.ts';
import { runStep } from './run-step.ts';
import { workdirStep } from './workdir-step.ts';

/** What one step adds to the stage's tree and configuration. Throws EngineError that names its lines. */
export function applyStep(context: StepContext): void {
  located(context.step.lines, () => apply(context));
}

function apply(context: StepContext): void {
  const { command } = context.step;
  switch (command.kind) {
    case 'env':
      return envStep(context, command);
    case 'label':
      return labelStep(context, command);
    case 'arg':
      return argStep(context, command);
    case 'run':
      return runStep(context, command);
    case 'copy':
    case 'add':
      return filesStep(context, command);
    case 'workdir':
      return workdirStep(context, command);
    case 'user':
      return userStep(context, command);
    case 'stopsignal':
      return stopSignalStep(context, command);
    case 'maintainer':
      return maintainerStep(context, command);
    case 'cmd':
      return cmdStep(context, command);
    case 'entrypoint':
      return entrypointStep(context, command);
    case 'shell':
      return shellStep(context, command);
    case 'expose':
      return exposeStep(context, command);
    case 'volume':
      return volumeStep(context, command);
    case 'healthcheck':
      return healthcheckStep(context, command);
    case 'onbuild':
      return onbuildStep(context, command);
    default:
      return unreachable(command);
  }
}
