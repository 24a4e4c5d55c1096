/** Images in the newest API shapes (api/types/image.ts). Pure. */
import type { ContainerConfig } from '../../api/types/container.ts';
import type { ImageHistoryItem, ImageInspect, LegacyImage } from '../../api/types/image.ts';
import { formatNano, ZERO_TIME } from '../base/clock.ts';
import type { LayerRow } from '../../storage/database/rows.ts';
import type { JsonObject } from '../../storage/image/json.ts';
import type { ImageRecord } from './image-index.ts';

/** Fields of a run configuration that are always sent, with the values that stand for "nothing". */
const ALWAYS = {
  Hostname: '',
  Domainname: '',
  User: '',
  AttachStdin: false,
  AttachStdout: false,
  AttachStderr: false,
  Tty: false,
  OpenStdin: false,
  StdinOnce: false,
  Env: null,
  Cmd: null,
  Image: '',
  Volumes: null,
  WorkingDir: '',
  Entrypoint: null,
  OnBuild: null,
  Labels: null,
} satisfies ContainerConfig;

/** Fields that are sent only when the image has them. */
const SOMETIMES = [
  'ExposedPorts',
  'Healthcheck',
  'ArgsEscaped',
  'NetworkDisabled',
  'MacAddress',
  'StopSignal',
  'StopTimeout',
  'Shell',
] as const;

/** A run configuration as Go clients expect it: every field of the type, unknown ones left out. */
export function runConfig(config: JsonObject | undefined): ContainerConfig {
  const known = config ?? {};
  const always = Object.entries(ALWAYS).map(([key, nothing]) => [key, known[key] ?? nothing]);
  const sometimes = SOMETIMES.filter((key) => (known[key] ?? undefined) !== undefined).map((key) => [
    key,
    known[key],
  ]);
  // storage/image/image-config.ts checked the type of each of these fields when the image came in.
  return Object.fromEntries([...always, ...sometimes]) as ContainerConfig;
}

/** Where the layers of an image lie, bottom first, as `GraphDriver` shows them. */
export interface LayerPaths {
  /** The image it was made from here; `''` = none, or gone. */
  parentId: string;
  layers: readonly LayerRow[];
  directory(id: number): string;
  diff(id: number): string;
}

/** The answer of GET /images/{name}/json. */
export function toInspect(
  image: ImageRecord,
  names: { tags: readonly string[]; digests: readonly string[] },
  paths: LayerPaths,
): ImageInspect {
  const { row, config } = image;
  const legacy = legacyImage(image, paths.parentId);
  const { Parent, Comment, DockerVersion, Author } = legacy;
  return {
    Id: row.id,
    RepoTags: [...names.tags],
    RepoDigests: [...names.digests],
    ...(Parent !== '' && { Parent }),
    ...(Comment !== '' && { Comment }),
    ...(DockerVersion !== '' && { DockerVersion }),
    ...(Author !== '' && { Author }),
    ...(config.created !== undefined && { Created: config.created }),
    Config: imageConfig(legacy.Config),
    Architecture: config.architecture,
    ...(config.variant === '' ? {} : { Variant: config.variant }),
    Os: config.os,
    ...(config.osVersion === '' ? {} : { OsVersion: config.osVersion }),
    Size: row.sizeBytes,
    GraphDriver: { Name: 'overlay2', Data: graphData(paths) },
    RootFS: { Type: 'layers', Layers: config.diffIds },
    Metadata: { LastTagTime: row.lastTaggedNano === null ? ZERO_TIME : formatNano(row.lastTaggedNano) },
  };
}

/** What clients before 1.52 get instead. */
export function legacyImage({ config }: ImageRecord, parentId: string): LegacyImage {
  return {
    Parent: parentId,
    Comment: config.comment || (config.history.at(-1)?.comment ?? ''),
    DockerVersion: config.dockerVersion,
    Author: config.author,
    Config: runConfig(config.config),
    Container: config.container,
    ContainerConfig: runConfig(config.containerConfig),
  };
}

/** What of a run configuration is an image's (OCI image-spec, config.md), and is not empty. */
const IMAGE_FIELDS = [
  'User',
  'ExposedPorts',
  'Env',
  'Entrypoint',
  'Cmd',
  'Volumes',
  'WorkingDir',
  'Labels',
  'StopSignal',
  'ArgsEscaped',
  'Healthcheck',
  'OnBuild',
  'Shell',
] as const;

function imageConfig(config: ContainerConfig): ContainerConfig {
  const said = IMAGE_FIELDS.map((key) => [key, config[key]] as const).filter(
    ([, value]) => !isNothing(value),
  );
  return Object.fromEntries(said);
}

function isNothing(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length === 0
    : value === undefined || value === null || value === '' || value === false;
}

function graphData(paths: LayerPaths): Record<string, string> | null {
  const top = paths.layers.at(-1);
  if (top === undefined) {
    return null;
  }
  const lowers = paths.layers
    .slice(0, -1)
    .map((layer) => paths.diff(layer.id))
    .toReversed();
  const directory = paths.directory(top.id);
  return {
    ...(lowers.length === 0 ? {} : { LowerDir: lowers.join(':') }),
    MergedDir: `${directory}/merged`,
    UpperDir: paths.diff(top.id),
    WorkDir: `${directory}/work`,
  };
}

/**
 * The answer of GET /images/{name}/history: newest step first. `images` are those of its newest steps that are still
 * here: itself, what it was made from, and so on.
 */
export function toHistory(
  image: ImageRecord,
  images: readonly { id: string; names: readonly string[] }[],
  layers: readonly LayerRow[],
): ImageHistoryItem[] {
  let next = 0;
  const items = image.config.history.map((entry): ImageHistoryItem => {
    const size = entry.emptyLayer ? 0 : (layers[next]?.sizeBytes ?? 0);
    next += entry.emptyLayer ? 0 : 1;
    return {
      Id: '<missing>',
      Created: secondsOf(entry.created),
      CreatedBy: entry.createdBy,
      Tags: null,
      Size: size,
      Comment: entry.comment,
    };
  });
  const newestFirst = items.toReversed();
  for (const [position, { id, names }] of images.entries()) {
    const item = newestFirst[position];
    if (item !== undefined) {
      item.Id = id;
      item.Tags = names.length === 0 ? null : [...names];
    }
  }
  return newestFirst;
}

/** UNIX seconds of an RFC 3339 time; 0 for none. */
export function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

/** Labels of an image; an empty record when it has none. */
export function labelsOf(image: ImageRecord): Readonly<Record<string, string>> {
  return runConfig(image.config.config).Labels ?? {};
}
