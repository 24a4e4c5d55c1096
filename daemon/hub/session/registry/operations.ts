import type {
  HubRegistrySession,
  RegistryBlob,
  RegistryDescriptor,
  RegistryManifest,
  RegistryResource,
  RegistryUpload,
  UploadBody,
} from '../../../../api/types/hub/registry.ts';
import type { HubRateStatus } from '../../../../api/types/hub/rate.ts';
import type { Caller } from '../../identity/caller.ts';
import { keyOf } from '../../limits/quotas.ts';
import { readDigest, readReference } from '../../registry/names/name.ts';
import type { AccessClaims } from '../../registry/tokens/access-tokens.ts';
import type { Repository } from '../../repositories/repository.ts';
import { actorOf } from '../actor.ts';
import type { SessionDeps } from '../session-deps.ts';
import { RegistryAccess } from './access.ts';
import { TagBounds } from './tag-bounds.ts';

/** The registry, as far as one caller may use it. */
export class RegistryOperations implements HubRegistrySession {
  readonly isBare: boolean;
  readonly #deps: SessionDeps;
  readonly #caller: Caller;
  readonly #access: RegistryAccess;
  readonly #bounds: TagBounds;

  constructor(deps: SessionDeps, caller: Caller, claims: AccessClaims | undefined) {
    this.isBare = caller.kind === 'anonymous' && claims === undefined;
    this.#deps = deps;
    this.#caller = caller;
    this.#access = new RegistryAccess(deps, caller, claims);
    this.#bounds = new TagBounds(deps, caller);
  }

  get source(): string {
    return this.#caller.kind === 'anonymous' ? this.#caller.address : (keyOf(this.#caller) ?? 'root');
  }

  admit(resource: RegistryResource): HubRateStatus | undefined {
    return this.#deps.registryLimits.admit(this.#caller, resource);
  }

  async blobSize(name: string, digest: string): Promise<number> {
    const { blobs } = this.#deps.registry;
    const repository = this.#access.enter(name, 'pull');
    this.#bounds.refuseBlob(repository, digest);
    const size = await blobs.size(repository, readDigest(digest));
    if (this.#access.may(repository, 'push')) {
      await blobs.keep(repository, digest);
    }
    return size;
  }

  async openBlob(name: string, digest: string): Promise<RegistryBlob> {
    const repository = this.#access.enter(name, 'pull');
    this.#bounds.refuseBlob(repository, digest);
    return await this.#deps.registry.blobs.open(repository, readDigest(digest));
  }

  async deleteBlob(name: string, digest: string): Promise<void> {
    const { blobs, collector } = this.#deps.registry;
    const repository = this.#access.enter(name, 'delete');
    this.#bounds.refuseWhole(repository, 'delete-images', name);
    await blobs.delete(repository, readDigest(digest));
    collector.soon();
  }

  async startUpload(name: string): Promise<RegistryUpload> {
    return await this.#deps.registry.uploads.start(await this.#access.enterToPush(name));
  }

  async mountBlob(name: string, digest: string, from: string): Promise<boolean> {
    const repository = await this.#access.enterToPush(name);
    const source = this.#access.peek(from, 'pull');
    return (
      source !== undefined &&
      this.#bounds.hasBlob(source, digest) &&
      (await this.#deps.registry.blobs.mount(repository, readDigest(digest), source))
    );
  }

  async takeLayer(name: string, digest: string, ticket: string): Promise<boolean> {
    const repository = await this.#access.enterToPush(name);
    return await this.#deps.registry.blobs.take(repository, { digest: readDigest(digest), ticket });
  }

  // Async, so that what it throws is a rejection like that of all others.
  async upload(name: string, id: string): Promise<RegistryUpload> {
    return await Promise.resolve(this.#deps.registry.uploads.status(this.#access.enter(name, 'push'), id));
  }

  async appendUpload(name: string, id: string, body: UploadBody): Promise<RegistryUpload> {
    return await this.#deps.registry.uploads.append(this.#access.enter(name, 'push'), id, body);
  }

  async finishUpload(name: string, id: string, digest: string, body: UploadBody): Promise<void> {
    const repository = this.#access.enter(name, 'push');
    await this.#deps.registry.uploads.finish(repository, id, readDigest(digest), body);
  }

  async cancelUpload(name: string, id: string): Promise<void> {
    await this.#deps.registry.uploads.cancel(this.#access.enter(name, 'push'), id);
  }

  async manifest(name: string, reference: string): Promise<RegistryManifest> {
    const repository = this.#access.enter(name, 'pull');
    const asked = readReference(reference);
    this.#bounds.refuseManifest(repository, asked, name);
    return await this.#deps.registry.manifests.read(repository, asked);
  }

  async pullManifest(name: string, reference: string): Promise<RegistryManifest> {
    const manifest = await this.manifest(name, reference);
    const repository = this.#access.enter(name, 'pull');
    this.#deps.registry.manifests.notePull(this.#by(repository), readReference(reference));
    return manifest;
  }

  async putManifest(
    name: string,
    reference: string,
    body: { mediaType: string | undefined; bytes: Buffer },
  ): Promise<{ digest: string; subject: string | undefined; occurrence: string | undefined }> {
    const repository = await this.#access.enterToPush(name);
    const { manifests } = this.#deps.registry;
    const asked = readReference(reference);
    this.#bounds.refusePut(repository, asked, body, name);
    const { manifest, occurrence } = await manifests.put(this.#by(repository), asked, body);
    const { digest, subject } = manifest;
    return { digest, subject: subject ?? undefined, occurrence };
  }

  async deleteManifest(name: string, reference: string): Promise<void> {
    const { manifests, collector } = this.#deps.registry;
    const [repository, asked] = [this.#access.enter(name, 'delete'), readReference(reference)];
    this.#bounds.refuseDelete(repository, asked, name);
    await manifests.delete(this.#by(repository), asked);
    collector.soon();
  }

  tags(name: string): readonly string[] {
    const repository = this.#access.enter(name, 'pull');
    return this.#bounds.seen(repository, this.#deps.registry.manifests.tags(repository));
  }

  referrers(name: string, digest: string): readonly RegistryDescriptor[] {
    const [repository, subject] = [this.#access.enter(name, 'pull'), readDigest(digest)];
    return this.#bounds.hasManifest(repository, subject)
      ? this.#deps.registry.manifests.referrers(repository, subject)
      : [];
  }

  catalogue(): readonly string[] {
    this.#access.enterCatalogue();
    const { repositories, registry } = this.#deps;
    return repositories
      .all()
      .filter((one) => this.#access.may(one, 'pull') && !registry.manifests.isEmpty(one))
      .map(({ owner, name }) => `${owner.name}/${name}`.toLowerCase())
      .toSorted();
  }

  #by(repository: Repository) {
    return { repository, actor: actorOf(this.#caller) };
  }
}
