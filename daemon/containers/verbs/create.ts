import { existsSync } from 'node:fs';
import type { ContainerCreateRequest, ContainerCreateResponse } from '../../../api/types/container.ts';
import { EngineError, invalidArgument, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { readHubTokenLabels } from '../../base/hub-token-labels.ts';
import { newId } from '../../base/ids.ts';
import { Rollback } from '../../base/rollback.ts';
import type { ResolvedImage } from '../../images/images.ts';
import { newContainer } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { ensureInitLayer } from '../files/init-layer.ts';
import { lacksWorkingDirectory, makeWorkingDirectory } from '../files/working-directory.ts';
import { generateName } from '../../base/made-up-name.ts';
import { checkName } from '../state/names.ts';
import { hubTokenFile } from '../resources/hub-token.ts';
import { pinImages } from '../resources/image-mounts.ts';
import { sandboxRequest } from '../resources/sandbox.ts';
import { limitStorage } from '../resources/storage-limit.ts';
import { namingFields } from '../request/faulty-fields.ts';
import { buildSpec } from '../request/build-spec.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { containerOfMode } from '../request/namespaces.ts';
import type { HiddenFile } from '../request/mounts/hidden-files.ts';
import { withHiddenFiles } from '../request/mounts/hidden-files.ts';
import { refuseOtherPlatform, wantedPlatform } from '../request/platform.ts';
import { makeVolumes } from '../resources/volumes.ts';
import { fillSourceVolumes, refuseRemovedSources, volumeSources } from '../resources/volumes-from.ts';

export interface CreateOptions {
  platform?: string;
  signal: AbortSignal;
  /** Until this fires no prune takes the container. */
  keepUntil?: AbortSignal;
  ofBuild?: ContainerSpec['ofBuild'];
  /** A command of a build, on layers that no image has. No client can ask for it. */
  step?: { root: ResolvedImage; files: readonly HiddenFile[]; variables: readonly string[] };
  /** For a task of the swarm, with files that nothing shows: its secrets. No client can ask for it. */
  task?: { files: readonly HiddenFile[] };
}

/** Makes a container that can be started. Throws not_found for its image, conflict for its name. */
export async function createContainer(
  context: ContainerContext,
  name: string | undefined,
  request: ContainerCreateRequest,
  options: CreateOptions,
): Promise<ContainerCreateResponse> {
  const { machine, registry, rootfs, images, clock, log } = context;
  if (!request.Image) {
    throw invalidArgument('Config cannot be empty in order to create a container: Image is missing');
  }
  const wantedName = name ? checkName(name) : undefined;
  const platform = wantedPlatform(options.platform);
  const image = options.step?.root ?? images.resolve(request.Image, platform);
  // Until the row holds the layers, a removal of the image must not take them.
  using _pin = images.pin(image.layerIds);
  refuseOtherPlatform(image, request.Image, options.platform, platform);
  const id = newId();
  // Steps of a build have the labels that its instructions set.
  const hubToken = options.ofBuild ? undefined : readHubTokenLabels(request.Labels ?? {});
  const ownFiles = [...(options.task?.files ?? []), ...(options.step?.files ?? [])];
  const hiddenFiles = [...ownFiles, ...hubTokenFile(context, id, hubToken)];
  const { spec, warnings } = namingFields(request, (asked) =>
    // Matching where one is asked for: others have been refused.
    specify(context, { id, request: asked, image, isPlatformAsked: platform !== undefined, hiddenFiles }),
  );
  using _mounted = pinImages(context, spec);
  const sources = volumeSources(context, spec.hostConfig.VolumesFrom ?? []);

  await (hubToken && context.hubTokens.check(hubToken));
  await context.turns.next();
  await using rollback = new Rollback(log, { container: id });
  const finalName = wantedName ?? generateName((candidate) => registry.isNameTaken(candidate));
  registry.reserveName(finalName, id);
  rollback.defer('release name', () => registry.releaseName(finalName, id));

  failpoint('containers.create.rootfs');
  rollback.defer('remove directory', () => rootfs.remove(id));
  await makeRootfs(context, id, image.layerIds, options);
  await limitStorage(rootfs, id, spec.hostConfig);
  const lacksDirectory = await lacksWorkingDirectory(context, { id, layerIds: image.layerIds, spec });
  await fillSourceVolumes(context, sources);
  failpoint('containers.create.volumes');
  const storeVolumes = await makeVolumes(context, spec, rollback);
  refuseHangUp(options.signal);

  const container = newContainer({
    id,
    name: finalName,
    imageId: image.id,
    layerIds: image.layerIds,
    createdNano: clock.nowNano(),
    spec: {
      ...spec,
      ...(options.ofBuild && { ofBuild: options.ofBuild }),
      ...(options.step && { ofCommand: true }),
      ...(options.task && { ofTask: true }),
      ...(hubToken && { hubToken }),
    },
    state: { status: 'created', exitCode: 0, error: '' },
  });
  container.neededUntil = options.keepUntil;
  container.unstoredVariables = options.step?.variables ?? [];
  refuseRemovedSources(context, sources);
  machine.create(container, [containerEvent(container, 'create')], storeVolumes);
  rollback.commit();
  if (lacksDirectory) {
    await makeWorkingDirectory(context, container);
  }
  return { Id: id, Warnings: warnings };
}

/** Commands of builds see no init layer. */
async function makeRootfs(
  context: ContainerContext,
  id: string,
  layerIds: readonly number[],
  { step }: CreateOptions,
): Promise<void> {
  if (step === undefined) {
    await ensureInitLayer(context, layerIds);
  }
  await context.rootfs.create(id, layerIds, { isBare: step !== undefined });
}

function specify(
  context: ContainerContext,
  from: {
    id: string;
    request: ContainerCreateRequest;
    image: ResolvedImage;
    isPlatformAsked: boolean;
    hiddenFiles: readonly HiddenFile[];
  },
): { spec: ContainerSpec; warnings: string[] } {
  const { registry, facts, defaults, networks, images, describedDevices } = context;
  const built = buildSpec({
    ...from,
    facts,
    defaults,
    findContainer: (ref) =>
      ifFound(() => {
        const { id, spec } = registry.find(ref);
        const { Hostname: hostname = '', Domainname: domainname = '' } = spec.config;
        const { NetworkMode: networkMode } = spec.hostConfig;
        return { id, hostname, domainname, networkMode, mounts: spec.mounts };
      }),
    findImage: (ref) => ifFound(() => images.resolve(ref).id),
    describedDevices: () => describedDevices.names(),
    findNetwork: (ref) => networks.find(ref),
    hostPathExists: existsSync,
  });
  if (containerOfMode(built.spec.hostConfig.NetworkMode) === undefined) {
    networks.validate(sandboxRequest(built.spec));
  }
  const { spec, warnings } = built;
  return { spec: { ...spec, mounts: withHiddenFiles(spec.mounts, from.hiddenFiles) }, warnings };
}

function ifFound<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}

/** The last moment before the container is stored: a client that is gone by now gets none. */
function refuseHangUp(signal: AbortSignal): void {
  if (signal.aborted) {
    throw new EngineError('canceled', 'create container: the client closed the connection');
  }
}
