import type {
  ContainerConfig,
  ContainerInspect,
  HealthView,
  NetworkSettingsView,
} from '../../../api/types/container.ts';
import { formatNano, ZERO_TIME } from '../../base/clock.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { networkOwnerId } from '../resources/namespace-owner.ts';
import { endpointViews, portMap } from './endpoint-view.ts';
import type { Health } from '../health/health.ts';
import { shownLinks } from '../resources/links.ts';
import { containerFiles } from '../resources/container-files.ts';
import type { ContainerState } from '../state/state.ts';
import { countsAsRunning, isRestarting, lastRun, liveRun, shownStatus } from '../state/state-facts.ts';
import { mountPoints } from '../resources/volumes.ts';

/** Everything about a container, from memory; only `size` looks at the disk. */
export async function inspectContainer(
  context: ContainerContext,
  ref: string,
  options: { size: boolean },
): Promise<ContainerInspect> {
  const container = context.registry.find(ref);
  // Frozen: what is sent again and again is put into JSON once (api/pipeline/json-text.ts).
  container.views.inspect ??= Object.freeze(render(context, container));
  const { links } = container.spec;
  if (container.execIds.size === 0 && !options.size && links === undefined) {
    return container.views.inspect;
  }
  const view = {
    ...container.views.inspect,
    ExecIDs: container.execIds.size === 0 ? null : [...container.execIds],
  };
  if (links !== undefined) {
    view.HostConfig = { ...view.HostConfig, Links: shownLinks(context, container) };
  }
  if (options.size) {
    const { rootfs } = context;
    view.SizeRw = await rootfs.sizeRw(container.id);
    view.SizeRootFs = view.SizeRw + rootfs.sizeRootFs(container.layerIds);
  }
  return view;
}

function render(context: ContainerContext, container: Container): ContainerInspect {
  const { id, name, imageId, layerIds, createdNano, spec, state } = container;
  const { dataRoot, rootfs, storageDriver } = context;
  const files = containerFiles(dataRoot, networkOwnerId(context, container));
  const layout = rootfs.layout(id, layerIds);
  const hasRun = lastRun(state).startedAtNano !== null;
  return {
    Id: id,
    Created: formatNano(createdNano),
    Path: spec.path,
    Args: spec.args,
    State: stateView(state),
    Image: imageId,
    // Made by the first start.
    ResolvConfPath: hasRun ? files.resolvConf : '',
    HostnamePath: hasRun ? files.hostname : '',
    HostsPath: hasRun ? files.hosts : '',
    LogPath: hasRun && spec.logDriver !== 'none' ? containerFiles(dataRoot, id).log : '',
    Name: `/${name}`,
    RestartCount: lastRun(state).restartCount,
    Driver: storageDriver,
    Platform: spec.platform,
    MountLabel: '',
    ProcessLabel: '',
    AppArmorProfile: spec.hostConfig.Privileged ? '' : (context.defaults.apparmorProfile ?? ''),
    ExecIDs: null,
    HostConfig: spec.hostConfig,
    GraphDriver: {
      Name: storageDriver,
      Data: {
        LowerDir: layout.lowers.join(':'),
        MergedDir: layout.merged,
        UpperDir: layout.upper,
        WorkDir: layout.work,
      },
    },
    Mounts: mountPoints(context, container),
    Config: shownConfig(spec),
    NetworkSettings: networkSettings(container),
  };
}

/**
 * What the image's OnBuild was has no meaning for a container; it is shown where there is any. The MAC address is that
 * wanted in its main network, which clients of before 1.52 look for here.
 */
function shownConfig({ config, networking, hostConfig }: Container['spec']): ContainerConfig {
  const { OnBuild, ...shown } = config;
  const main = networking[hostConfig.NetworkMode === 'default' ? 'bridge' : hostConfig.NetworkMode];
  return {
    ...shown,
    ...(OnBuild?.length && { OnBuild }),
    ...(main?.MacAddress && { MacAddress: main.MacAddress }),
  };
}

/** The booleans are derived here and nowhere else; paused and restarting imply running, as clients expect. */
function stateView(state: ContainerState): ContainerInspect['State'] {
  const { exitCode, error, oomKilled, startedAtNano, finishedAtNano, health } = lastRun(state);
  return {
    Status: shownStatus(state),
    Running: countsAsRunning(state),
    Paused: state.status === 'paused',
    Restarting: isRestarting(state),
    OOMKilled: oomKilled,
    Dead: state.status === 'dead',
    Pid: liveRun(state)?.process.pid ?? 0,
    ExitCode: exitCode,
    Error: error,
    StartedAt: startedAtNano === null ? ZERO_TIME : formatNano(startedAtNano),
    FinishedAt: finishedAtNano === null ? ZERO_TIME : formatNano(finishedAtNano),
    ...(health && { Health: healthView(health) }),
  };
}

function healthView({ status, failingStreak, log }: Health): HealthView {
  return {
    Status: status,
    FailingStreak: failingStreak,
    Log: log.map(({ start, end, exitCode, output }) => ({
      Start: start,
      End: end,
      ExitCode: exitCode,
      Output: output,
    })),
  };
}

function networkSettings(container: Container): NetworkSettingsView {
  const live = liveRun(container.state);
  return {
    SandboxID: live?.sandbox.ownerId ?? '',
    SandboxKey: live?.sandbox.netnsPath ?? '',
    Ports: portMap(container),
    Networks: endpointViews(container),
  };
}
