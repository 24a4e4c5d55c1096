import type { ListContainersOptions } from '../../../api/types/ports.ts';
import type { ContainerSummary } from '../../../api/types/container.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { linkNames } from '../resources/links.ts';
import { listTest } from './list-filters.ts';
import { countsAsRunning, lastRun, shownStatus } from '../state/state-facts.ts';
import { statusText } from './status-text.ts';
import { endpointViews, portSummaries } from './endpoint-view.ts';
import { mountPoints } from '../resources/volumes.ts';

/** Of containers without a health check. */
const NO_HEALTH = { Status: 'none', FailingStreak: 0 } as const;

/** Containers newest first, from memory; only `size` looks at the disk. */
export async function listContainers(
  context: ContainerContext,
  options: ListContainersOptions,
): Promise<ContainerSummary[]> {
  const containers = chosen(context, options);
  const nowNano = context.clock.nowNano();
  const summaries = containers.map((container) => ({
    ...summaryView(context, container),
    ...linkedNames(context, container),
    Image: context.images.displayName(container.imageId, container.spec.createdFrom),
    State: shownStatus(container.state),
    Status: statusText(container.state, nowNano),
    Health: healthSummary(container),
  }));
  return options.size ? withSizes(context, containers, summaries) : summaries;
}

function healthSummary({ state }: Container): ContainerSummary['Health'] {
  const { health } = lastRun(state);
  return health === undefined ? NO_HEALTH : { Status: health.status, FailingStreak: health.failingStreak };
}

function chosen(context: ContainerContext, options: ListContainersOptions): readonly Container[] {
  const { registry } = context;
  const passes = listTest(options.filters, context);
  // As dockerd: asking for a status or for the last n means all containers.
  const all = options.all || options.limit > 0 || options.filters.has('status');
  const since = options.since ? registry.find(options.since).createdNano : undefined;
  const before = options.before ? registry.find(options.before).createdNano : undefined;
  const found = registry
    .all()
    .filter(
      (container) =>
        (all || countsAsRunning(container.state)) &&
        (since === undefined || container.createdNano > since) &&
        (before === undefined || container.createdNano < before) &&
        passes(container),
    );
  return options.limit > 0 ? found.slice(0, options.limit) : found;
}

/** Not kept with the summary: they change with other containers. */
function linkedNames(
  context: ContainerContext,
  container: Container,
): Pick<ContainerSummary, 'Names'> | object {
  const names = linkNames(context, container);
  return names.length === 0 ? {} : { Names: [`/${container.name}`, ...names].toSorted() };
}

/** One after the other: each walks a directory tree, and a list must not keep the disk from other requests. */
async function withSizes(
  { rootfs }: ContainerContext,
  containers: readonly Container[],
  summaries: ContainerSummary[],
): Promise<ContainerSummary[]> {
  for (const [index, { id, layerIds }] of containers.entries()) {
    const summary = summaries[index];
    if (summary !== undefined) {
      summary.SizeRw = await rootfs.sizeRw(id);
      summary.SizeRootFs = summary.SizeRw + rootfs.sizeRootFs(layerIds);
    }
  }
  return summaries;
}

/**
 * What the list shows of a container, but for what depends on the time or on tags. Kept until the container changes.
 * Callers copy it before they add to it.
 */
function summaryView(context: ContainerContext, container: Container): Readonly<ContainerSummary> {
  container.views.summary ??= renderSummary(context, container);
  return container.views.summary;
}

function renderSummary(context: ContainerContext, container: Container): ContainerSummary {
  const { id, name, imageId, createdNano, spec, state } = container;
  const { Annotations } = spec.hostConfig;
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
    Health: NO_HEALTH,
    HostConfig: {
      NetworkMode: spec.hostConfig.NetworkMode,
      ...(Annotations && Object.keys(Annotations).length > 0 && { Annotations }),
    },
    NetworkSettings: { Networks: endpointViews(container) },
    Mounts: mountPoints(context, container),
  };
}

/** The command line in one string; arguments with blanks in single quotes, as dockerd shows them. */
function commandText(path: string, args: readonly string[]): string {
  return [path, ...args.map((arg) => (arg.includes(' ') ? `'${arg}'` : arg))].join(' ');
}
