import type { Readable } from 'node:stream';
import type { BuildProcess } from '../../api/types/build/containers.ts';
import type { ContainerCreateRequest } from '../../api/types/container.ts';
import type { ExecCreateRequest } from '../../api/types/exec.ts';
import type { ProgressMessage, RegistryAuth } from '../../api/types/image.ts';
import type { Filters } from '../../api/types/requests.ts';
import type { OpenFile } from '../base/kernel/files/safepath.ts';
import type { CacheDocument, CachedResult, RemoteLayer } from './cache/exchange/document.ts';
import type { HiddenFile } from '../containers/request/mounts/hidden-files.ts';
import type { Vertex } from './graph/op.ts';
import type { StepContainer } from './graph/step-container.ts';
import type { UsedSource } from './graph/used-source.ts';
import type { ChangesTar } from '../../storage/files/tar-spools.ts';
import type { LayerCompression, OciDescriptor } from '../../storage/image-archives/oci-documents.ts';
import type { DocumentAnnotations } from '../../storage/database/manifest-list-rows.ts';
import type { Attestation } from '../../storage/image-archives/statement.ts';
import type { BuildTree } from './snapshots/tree.ts';
import type { PlaceRequest } from '../../storage/files/place.ts';
import type { PlacedSpool } from '../../storage/spool/placed-spool.ts';

/** Where the files of a client lie. Satisfied by `storage/spool`. */
export type ContextSpool = Pick<
  PlacedSpool,
  'fd' | 'size' | 'reserve' | 'put' | 'isFull' | 'flush' | 'read'
> &
  AsyncDisposable;

/** Files without names for what clients send. Satisfied by `storage/files`. */
export interface ContextSpools {
  placed(what: string): Promise<ContextSpool>;
}

/** What a build has come by, and what of it is in its image; layers by their ids. */
export interface BuiltCache {
  document: CacheDocument<number>;
  /** Results that it did not need, of the caches that it looked into. */
  elsewhere: readonly CachedResult<RemoteLayer>[];
  imageLayers: readonly number[];
}

/** By what a result was made: its operations, and the file that they are of. */
export interface BuildRecipe {
  /** Undefined: an empty tree. */
  target: Vertex | undefined;
  /** The file that it was made of, and where that came from; undefined = nobody can tell. */
  file: { name: string; text: string; source?: Vertex | undefined };
  /** Layers of the image that it stands on. */
  baseLayers: number;
  /** Trees that are looked through besides its own, by name; held with it. */
  scanned: ReadonlyMap<string, BuildTree | undefined>;
}

/** What a build has made, kept until it is disposed of. */
export interface BuiltImage extends Disposable {
  /** That the image has, or will have once it is exported. */
  id: string;
  /** Its configuration, as bytes of JSON. */
  config: Buffer;
  /**
   * The same build for the other platforms that were asked for, in their order; they go with this one. None: it is the
   * only one of those that were to be by platform. Undefined: it is the result itself.
   */
  others?: readonly BuiltImage[];
  /** Kept as long as the image, where its cache is wanted elsewhere. */
  cache?: BuiltCache;
  /** Its files; undefined = none. */
  tree: BuildTree | undefined;
  /** What it was made of. */
  sources: readonly UsedSource[];
  recipe: BuildRecipe;
  /** The same files with the configuration that a client gives them, where it is the client's to say. */
  configured?(config: Buffer): BuiltImage;
  /** Seconds since 1970: when the build says that it was made (SOURCE_DATE_EPOCH). */
  epochSeconds: number | undefined;
}

/** The bytes of a layer, as others are given them; disposing gives back what they took on disk. */
export interface LayerBlob extends AsyncDisposable {
  /** sha256:... */
  digest: string;
  bytes: number;
  /** From one of its bytes on; from the first where none is named. */
  read: (from?: number) => Readable;
}

/** What was made by builds and the next ones may take. */
export interface UsageRecord {
  id: string;
  /** As BuildKit's clients name them: `regular`, `source.local`, `exec.cachemount`. */
  type: string;
  parents: readonly string[];
  bytes: number;
  createdMs: number;
  /** Undefined: nobody counts. */
  lastUsedMs?: number;
  usageCount: number;
  description: string;
  inUse: boolean;
  /** An image has it, too. */
  isShared: boolean;
  isMutable: boolean;
}

/** What the classic builder has left: images of its steps. Satisfied by the image domain. */
export interface ClassicSteps {
  /** Throws invalid_argument before anything is built. */
  refuseNames(names: readonly string[]): void;
  usage(): UsageRecord[];
  prune(filters: Filters): Promise<UsageRecord[]>;
}

/** Layers, bottom first, that nothing removes until `pin` is disposed of. */
export interface PinnedLayers {
  layerIds: readonly number[];
  pin: Disposable;
}

export interface ImageFacts extends PinnedLayers {
  id: string;
  /** Of its manifest where a registry has it, else `''`. */
  digest: string;
  /** Its configuration, as bytes of JSON. */
  config: Buffer;
}

export interface NewBuildImage {
  layerIds: readonly number[];
  /** With the diff IDs of these layers. */
  config: Buffer;
  names: readonly string[];
}

/** One of several images under the same names, and what is said of it. */
export interface NewListedImage extends Omit<NewBuildImage, 'names'> {
  attestations: readonly Attestation[];
  /** Of its manifest. */
  annotations: DocumentAnnotations | undefined;
}

/** A list of images, as it is to be kept. */
export interface NewImageList {
  names: readonly string[];
  /** Also where nothing needs it, the media types of the OCI image specification. */
  isOci: boolean;
  /** One image with a manifest, without an index. */
  isAlone: boolean;
  /** Of the index. */
  annotations: DocumentAnnotations | undefined;
}

/** A command on layers. */
export interface LayerCommand {
  layerIds: readonly number[];
  body: ContainerCreateRequest;
  /** For errors. */
  command: readonly string[];
  files: readonly HiddenFile[];
  /** `NAME=value` of secrets, which are stored nowhere. */
  variables: readonly string[];
  /** Places that were made to mount something there: empty ones are no changes. */
  mountPoints: Readonly<Record<string, 'directory' | 'file'>>;
  output(stream: number, bytes: Buffer): void;
  signal: AbortSignal;
  /** Exit codes with which it has ended well; undefined = 0. */
  validExitCodes?: readonly number[];
  /** That of a client, in place of `body`. */
  container?: StepContainer;
  /** Is given what a command that fails leaves, and has it removed; undefined = it is removed at once. */
  left?: (left: LeftCommand) => void;
}

/** What a command that failed has left. */
export interface LeftCommand {
  /** What it had made until then. */
  layers(signal: AbortSignal): Promise<PinnedLayers>;
  /** `idle` waits for it. */
  remove(): void;
}

/** A container on layers whose processes somebody talks to. */
export interface NewLayerContainer extends Pick<
  LayerCommand,
  'layerIds' | 'body' | 'command' | 'files' | 'variables' | 'signal'
> {}

export interface LayerContainer {
  /** Its init. */
  first: BuildProcess;
  /** A further one. Throws conflict where the first has ended. */
  exec(request: ExecCreateRequest): Promise<BuildProcess>;
  /** Its root without what is mounted in it, to be read. */
  root(): Promise<OpenFile>;
  /** Ends what runs in it; nothing of it is left. */
  remove(): Promise<void>;
}

/** Layers without images: what operations of builds make. Satisfied by the image domain. */
export interface BuildLayers {
  pin(layerIds: readonly number[]): PinnedLayers;
  /** Directories, topmost first. */
  lowers(layerIds: readonly number[]): string[];
  /** Name of the topmost by all below it; `''` = no layers. */
  chainId(layerIds: readonly number[]): string;
  bytes(layerIds: readonly number[]): number;
  diffIds(layerIds: readonly number[]): string[];
  /** A layer with all below it; undefined where one is not there. */
  chainOf(layerId: number): number[] | undefined;
  chainNamed(chainId: string): number[] | undefined;
  /** An image by its name, pulled where the mode says so, or it is not here. */
  image(
    source: { reference: string; platform: string; mode: 'local' | 'pull' },
    options: {
      auth(domain: string): Promise<RegistryAuth>;
      signal: AbortSignal;
      told(message: ProgressMessage): void;
    },
  ): Promise<ImageFacts>;
  /** What a command makes of them. Throws with the command's exit code. Nothing is left once `idle` resolves. */
  run(command: LayerCommand): Promise<PinnedLayers>;
  /** A container like that of a command. Throws with nothing left. */
  open(asked: NewLayerContainer): Promise<LayerContainer>;
  /** One more layer; the same where nothing has changed. `files`: what the tar is of, which the layer may take. */
  commit(
    layerIds: readonly number[],
    changes: { tar: ChangesTar; files?: string },
    signal: AbortSignal,
  ): Promise<PinnedLayers>;
  /**
   * One more layer, of files that are put on these; the same where they are there already. Undefined, with nothing
   * made, where it takes an overlay to say what becomes of them.
   */
  compose(
    layerIds: readonly number[],
    files: PlaceRequest,
    signal: AbortSignal,
  ): Promise<PinnedLayers | undefined>;
  /** So many files are on their way to `compose`, which may make ready. */
  expectFiles(count: number): void;
  /** The layers `above` on others. */
  stack(layerIds: readonly number[], above: readonly number[], signal: AbortSignal): Promise<PinnedLayers>;
  /** Answers the image's id and its names in full. */
  makeImage(image: NewBuildImage): Promise<{ id: string; names: string[] }>;
  /**
   * Makes several images, or one of which something is said or annotated, and gives their list the names. Answers what
   * it is.
   */
  makeList(
    images: readonly NewListedImage[],
    list: NewImageList,
  ): Promise<{ imageId: string; descriptor: OciDescriptor; names: string[] }>;
  /**
   * What an image is called by its digest in the repositories of these names: what a registry has been given, or
   * (`pushed` undefined) the list that it stands for, or what the hub of this host would call it. Answers the digest.
   * Throws not_found where the image has gone meanwhile.
   */
  callByDigest(
    imageId: string,
    asked: { names: readonly string[]; pushed: string | undefined; list?: string | undefined },
  ): string;
  /** A layer for others; its tar is read as it is stored, or compressed into a file without a name. */
  blob(
    layerId: number,
    options: { compression: LayerCompression; level: number | undefined; signal: AbortSignal },
  ): Promise<LayerBlob>;
  /** Gives an image of this name to the registry that the name names; answers the manifest's digest. */
  push(
    name: string,
    options: { auth(domain: string): Promise<RegistryAuth>; signal: AbortSignal },
  ): Promise<string>;
  /** Images that have the layer. */
  users(layerId: number): number;
  isPinned(layerId: number): boolean;
  /** Removes layers that nobody needs any more. */
  collect(): Promise<void>;
  /** Resolves when the containers of commands that have ended are gone. */
  idle(): Promise<void>;
}
