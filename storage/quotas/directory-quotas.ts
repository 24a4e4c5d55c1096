/**
 * Limits of what directories hold together with all below them. Directories are named by paths that only root can
 * change; the file system keeps project and limit with them, so that there is no record of ours to go wrong.
 */
export interface DirectoryQuotas {
  /** Why directories made in `parent` cannot be limited; undefined = they can. */
  obstacle(parent: string): string | undefined;
  /**
   * From here on what is made below the directories counts, all of them together, and `bytes` is the limit. They hold
   * no file yet, or were limited before. Again is as good as once. Throws invalid_argument when that cannot be.
   */
  limit(directories: readonly [string, ...string[]], bytes: number): Promise<void>;
  /** undefined = not limited by us. */
  usage(directory: string): Promise<{ usedBytes: number; limitBytes: number } | undefined>;
  /** No limit any more; the directory is about to go. Nothing to do for one that has none, or is not there. */
  forget(directory: string): Promise<void>;
}
