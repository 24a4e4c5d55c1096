import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerFiles } from '../resources/container-files.ts';
import type { LoggedRun } from '../ports.ts';

/** What the logs domain, which keeps and delivers its output, needs to know of a container. */
export function loggedRun(
  { dataRoot }: Pick<ContainerContext, 'dataRoot'>,
  { id, name, imageId, createdNano, spec }: Container,
): LoggedRun {
  return {
    id,
    name,
    imageId,
    imageName: spec.createdFrom,
    createdNano,
    labels: spec.config.Labels ?? {},
    env: spec.config.Env ?? [],
    path: spec.path,
    args: spec.args,
    logPath: containerFiles(dataRoot, id).log,
    logConfig: spec.hostConfig.LogConfig,
  };
}
