import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';

/** All manifest lists in memory, in step with their rows. */
export class ManifestLists {
  readonly #lists = new Map<string, ManifestListRow>();
  /** Image id -> ids of the lists that have it. */
  readonly #having = new Map<string, Set<string>>();

  /** `isThere`: the image could be read. A list without the image that its names mean is left out. */
  load(rows: readonly ManifestListRow[], isThere: (imageId: string) => boolean): void {
    for (const row of rows) {
      if (isThere(row.imageId)) {
        this.add({ ...row, images: row.images.filter(({ imageId }) => isThere(imageId)) });
      }
    }
  }

  get(id: string): ManifestListRow | undefined {
    return this.#lists.get(id);
  }

  /** Lists that an image is in. */
  having(imageId: string): ManifestListRow[] {
    return [...(this.#having.get(imageId) ?? [])].flatMap((id) => this.#lists.get(id) ?? []);
  }

  /** Lists that go with an image: it is what their names mean. */
  of(imageId: string): ManifestListRow[] {
    return this.having(imageId).filter((list) => list.imageId === imageId);
  }

  /** An image is here for a list of another one. */
  isListed(imageId: string): boolean {
    return this.having(imageId).some((list) => list.imageId !== imageId);
  }

  /** The other images of the lists that go with an image. */
  companionsOf(imageId: string): string[] {
    const all = this.of(imageId).flatMap(({ images }) => images.map((listed) => listed.imageId));
    return [...new Set(all)].filter((id) => id !== imageId);
  }

  add(row: ManifestListRow): void {
    this.#lists.set(row.id, row);
    for (const { imageId } of row.images) {
      this.#having.set(imageId, (this.#having.get(imageId) ?? new Set()).add(row.id));
    }
  }

  /** In place of the one of its id, if there is any. */
  replace(row: ManifestListRow | undefined): void {
    if (row !== undefined) {
      this.remove(row.id);
      this.add(row);
    }
  }

  remove(id: string): void {
    for (const { imageId } of this.#lists.get(id)?.images ?? []) {
      const having = this.#having.get(imageId);
      having?.delete(id);
      if (having?.size === 0) {
        this.#having.delete(imageId);
      }
    }
    this.#lists.delete(id);
  }
}
