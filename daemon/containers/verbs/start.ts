import { existsSync } from 'node:fs';
import { EngineError, errorText, internal, invalidArgument, notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { measured } from '../../base/measured.ts';
import type { ProcessIdentity } from '../../base/kernel/processes/process.ts';
import { Rollback } from '../../base/rollback.ts';
import { parseDetachKeys } from '../../base/stdio/detach-keys.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { together } from '../../base/concurrency/timeout.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import { containerEvent, networkEvents } from '../state/events.ts';
import { ensureInitLayer } from '../files/init-layer.ts';
import { healthCheckOf } from '../health/check.ts';
import { NEW_HEALTH } from '../health/health.ts';
import { writeIdentityFiles, openSandbox } from '../resources/sandbox.ts';
import { hasInit } from '../oci/process.ts';
import { makeOciSpec } from '../oci/oci-spec.ts';
import { loggedRun } from '../stdio/logged-run.ts';
import { refuseDeadLinks, updateLinkedHosts } from '../resources/links.ts';
import { containerFiles } from '../resources/container-files.ts';
import type { StdinMode } from '../../../runtime/runc/launch-request.ts';
import type { OciSpec } from '../../../runtime/runc/spec-types.ts';
import { releaseEnded } from '../lifecycle/release.ts';
import { removeLocked } from './remove.ts';
import { namedAtStart } from '../request/faulty-fields.ts';
import { isMadeAtStart, prepareHubToken } from '../resources/hub-token.ts';
import { prepareSharedMemory } from '../resources/shared-memory.ts';
import { dismissPendingClients, connectPendingClients } from '../stdio/attach-slot.ts';
import { pinSources } from '../resources/pinned-sources.ts';
import { limitStorage } from '../resources/storage-limit.ts';
import { prepareVolumes } from '../resources/volumes.ts';

/** Exit code of a start that failed before the command could. */
const EXIT_CODE_START_FAILED = 128;

/** Starts a container. Throws not_modified when it runs, and what dockerd prints when it cannot be started. */
export async function startContainer(
  context: ContainerContext,
  ref: string,
  options: { detachKeys?: string },
): Promise<void> {
  // Each attach brings its own detach keys; those of the start are only checked.
  parseDetachKeys(options.detachKeys);
  await startByUser(context, context.registry.find(ref));
}

/** A start that a client asked for. A container between two attempts of its policy counts as started. */
export async function startByUser(context: ContainerContext, container: Container): Promise<void> {
  await context.mutex.run(container.id, async () => {
    if (context.registry.get(container.id) !== container) {
      throw notFound(`No such container: ${container.id}`);
    }
    if (container.state.status === 'restarting') {
      throw new EngineError('not_modified', `Container ${container.id} is already started`);
    }
    refuseMissingSources(context, container);
    await startLocked(context, container);
  });
}

/** As dockerd: said before anything is tried, so that it leaves no mark on the container. */
function refuseMissingSources(context: ContainerContext, container: Container): void {
  for (const mount of container.spec.mounts) {
    const isNeeded =
      mount.type === 'bind' && !mount.createMountpoint && !isMadeAtStart(context, container, mount.source);
    if (isNeeded && !existsSync(mount.source)) {
      throw invalidArgument(
        `invalid mount config for type "bind": bind source path does not exist: ${mount.source}`,
      );
    }
  }
}

/** The start itself, under the container's mutex. After a failure nothing is left but its error and exit code. */
export function startLocked(context: ContainerContext, container: Container): Promise<void> {
  return measured('container', 'start', () => startNow(context, container));
}

async function startNow(context: ContainerContext, container: Container): Promise<void> {
  await releaseEnded(container);
  context.machine.commit(container, { type: 'start' });
  container.earlyExit = undefined;
  container.isBeingStarted = true;
  try {
    await context.starts.run(() => bringUp(context, container));
  } catch (error) {
    if (container.state.status !== 'starting') {
      // It was committed as running: its exit, which is under way, settles the rest.
      throw error;
    }
    const failure =
      error instanceof EngineError
        ? namedAtStart(container.spec, error)
        : internal(errorText(error), { cause: error });
    await startFailed(context, container, failure);
    throw failure;
  } finally {
    container.isBeingStarted = false;
  }
}

async function bringUp(context: ContainerContext, container: Container): Promise<void> {
  const { machine, clock, log, bootId } = context;
  const { id } = container;
  await using rollback = new Rollback(log, { container: id });

  refuseDeadLinks(context, container);
  // The end of the run before waits in its exit record too, which the next run's would take the place of.
  machine.settleFacts();
  await context.turns.next();
  const [sandbox, rootPath] = await together(
    prepareNetwork(context, container, rollback),
    prepareRootfs(context, container, rollback),
    prepareSharedMemory(context, container, rollback),
    prepareHubToken(context, container, rollback),
  );
  await using pinned = await pinSources(context, container);
  const spec = makeOciSpec(context, container, { rootPath, sandbox, pinnedSources: pinned.paths });
  const process = await launch(context, container, spec, rollback);
  await connectPendingClients(context, container);
  refuseEarlyExit(context, container, process);

  failpoint('containers.start.commit');
  const health = healthCheckOf(container.spec.config) && { health: NEW_HEALTH };
  container.startedAtMs = clock.monotonicMs();
  machine.commit(
    container,
    { type: 'started', process, bootId, startedAtNano: clock.nowNano(), sandbox, ...health },
    [...networkEvents(context.networks, container, sandbox, 'connect'), containerEvent(container, 'start')],
  );
  rollback.commit();
  updateLinkedHosts(context, container);
  // Clients that came while the first were being connected; from here on clients connect themselves.
  await connectPendingClients(context, container);
  await begin(context, container);
  failpoint('containers.start.begun');
}

async function prepareNetwork(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<Sandbox> {
  const sandbox = await openSandbox(context, container, rollback);
  failpoint('containers.start.files');
  writeIdentityFiles(context, container, sandbox);
  return sandbox;
}

/** The container's root, mounted and with its volumes filled. */
async function prepareRootfs(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<string> {
  const { mounts, rootfs, images } = context;
  const lost = images.lostLayers(container.layerIds);
  if (lost.length > 0) {
    const image = container.spec.config.Image || container.imageId;
    throw internal(`the files of image ${image} are incomplete (${lost.join(', ')}): pull or load it again`);
  }
  if (!rootfs.isBare(container.id)) {
    // Gone with a layer that was lost and loaded again.
    await ensureInitLayer(context, container.layerIds);
  }
  const layout = rootfs.layout(container.id, container.layerIds);
  await limitStorage(rootfs, container.id, container.spec.hostConfig);
  failpoint('containers.start.mount');
  // What a build has not finished is thrown away after a power cut, and nobody mounts it twice.
  const isVolatile = container.spec.ofBuild === 'removed';
  await mounts.overlay(layout, { readonly: false, isVolatile });
  rollback.defer('unmount rootfs', () => mounts.unmount(layout.merged));
  await prepareVolumes(context, container, layout.merged, rollback);
  return layout.merged;
}

async function launch(
  context: ContainerContext,
  container: Container,
  spec: OciSpec,
  rollback: Rollback,
): Promise<ProcessIdentity> {
  const { runtime, dataRoot } = context;
  const { id } = container;
  const { config, hostConfig, logDriver } = container.spec;
  const run = loggedRun(context, container);
  const logBytesMax = await context.logs.open(run);
  rollback.defer('close log', () => context.logs.ended(run));
  failpoint('containers.start.launch');
  const process = await runtime.launch({
    id,
    runtime: hostConfig.Runtime,
    spec,
    terminal: config.Tty ?? false,
    stdin: stdinMode(container),
    logPath: logDriver === 'none' ? null : containerFiles(dataRoot, id).log,
    logBytesMax,
  });
  rollback.defer('end the created process', async () => {
    await runtime.killAll(id);
    await runtime.cleanUp(id);
    runtime.forgetExit(id);
  });
  failpoint('containers.start.launched');
  return process;
}

function stdinMode({ spec: { config } }: Container): StdinMode {
  if (!config.OpenStdin) {
    return 'none';
  }
  return config.StdinOnce ? 'once' : 'open';
}

/** A report may also be of a start before this one that was rolled back: the process itself decides. */
function refuseEarlyExit(context: ContainerContext, container: Container, process: ProcessIdentity): void {
  const exit = container.earlyExit;
  if (exit !== undefined && !context.isAlive(process)) {
    throw internal(`container ${container.id} ended before its command was started`, {
      details: { exitCode: exit.exitCode },
    });
  }
}

/** Executes the command. From here on the container is running in the database, so a failure ends it like any exit. */
async function begin(context: ContainerContext, { id, spec }: Container): Promise<void> {
  try {
    failpoint('containers.start.begin');
    await context.runtime.begin(id, { passesSignalsOn: hasInit(spec, context.defaults) });
  } catch (error) {
    await context.runtime.killAll(id);
    throw internal(`cannot start container ${id}: ${errorText(error)}`, { cause: error });
  }
}

async function startFailed(context: ContainerContext, container: Container, error: unknown): Promise<void> {
  const { exitCode } = error instanceof EngineError ? error.details : {};
  context.machine.note(container, {
    type: 'start_failed',
    exitCode: typeof exitCode === 'number' ? exitCode : EXIT_CODE_START_FAILED,
    error: errorText(error),
  });
  dismissPendingClients(container);
  if (container.spec.hostConfig.AutoRemove) {
    try {
      await removeLocked(context, container, { volumes: true, force: false });
    } catch (removal) {
      context.log.error({ container: container.id, err: removal }, 'removal after a failed start failed');
    }
  }
}
