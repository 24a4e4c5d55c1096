import type { ContainerSummary } from '../../../api/types/container.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { endpointViews, portSummaries } from './endpoint-view.ts';
import { mountPoints } from '../resources/volumes.ts';
import { shownStatus } from '../state/state-facts.ts';

/**
 * What the list shows of a container, but for what depends on the time or on tags. Kept until the container changes.
 * Callers copy it before they add to it.
 */
export function summaryView(context: ContainerContext, container: Container): Readonly<ContainerSummary> {
  container.views.summary ??= render(context, container);
  return container.views.summary;
}

function render(context: ContainerContext, container: Container): ContainerSummary {
  const { id, name, imageId, createdNano, spec, state } = container;
  return {
    Id: id,
    Names: [`/${name}`],
    Image: spec.createdFrom,
    ImageID: imageId,
    Command: commandText(spec.path, spec.args),
    Created: Number(createdNano / 1_000_000_000n),
    Ports: portSummaries(container),
    Labels: spec.config.Labels ?? {},
    State: shownStatus(state),
    Status: '',
    HostConfig: { NetworkMode: spec.hostConfig.NetworkMode },
    NetworkSettings: { Networks: endpointViews(container) },
    Mounts: mountPoints(context, container),
  };
}

/** The command line in one string; arguments with blanks in single quotes, as dockerd shows them. */
function commandText(path: string, args: readonly string[]): string {
  return [path, ...args.map((arg) => (arg.includes(' ') ? `'${arg}'` : arg))].join(' ');
}
