import { EngineError, errnoOf, errorText, invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { classifyName } from './attributes.ts';
import { ContentWriter } from './content-writer.ts';
import type { RecipeWriter } from './recipe.ts';
import { checkNumbers } from '../tar/check-numbers.ts';
import { normalizeName, showName, splitName } from '../tar/names.ts';
import type { TarMember, TarSink } from '../tar/parser.ts';
import type { LayerTree } from './tree.ts';

/** Errors of the disk, not of the layer: they keep their meaning on the way to the client. */
const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** What members become. */
export type LayerFiles = Pick<
  LayerTree,
  'directory' | 'createFile' | 'finishFile' | 'symlink' | 'node' | 'link' | 'whiteout' | 'opaque' | 'finish'
>;

/**
 * Turns the members of a layer's tar into files of a tree, and records the recipe to write the tar again. Whiteouts
 * become what overlayfs understands, as moby's overlay2 driver does.
 */
export class LayerApplier implements TarSink {
  readonly #tree: LayerFiles;
  readonly #recipe: Pick<RecipeWriter, 'raw' | 'content' | 'sparse'>;
  readonly #what: string;
  #file: { fd: number; path: string; member: TarMember; content: ContentWriter } | undefined;
  /** Bytes of all files' content: what clients see as the layer's size. */
  contentBytes = 0;
  entries = 0;

  constructor(tree: LayerFiles, recipe: Pick<RecipeWriter, 'raw' | 'content' | 'sparse'>, what: string) {
    this.#tree = tree;
    this.#recipe = recipe;
    this.#what = what;
  }

  raw(bytes: Buffer): void {
    this.#recipe.raw(bytes);
  }

  member(member: TarMember): void {
    this.entries += 1;
    this.contentBytes += member.size;
    this.#named(member, () => this.#apply(member));
  }

  data(bytes: Buffer): void {
    const file = this.#file;
    if (file === undefined) {
      // Content that no file keeps (aufs bookkeeping, whiteouts with a body).
      this.#recipe.raw(bytes);
      return;
    }
    this.#named(file.member, () => file.content.write(bytes));
  }

  memberEnd(): void {
    const file = this.#file;
    if (file !== undefined) {
      this.#file = undefined;
      this.#named(file.member, () => {
        file.content.finish();
        this.#tree.finishFile(file.fd, file.path, file.member);
      });
    }
  }

  /** The descriptor of a file under construction, when the input ended inside it. */
  get openFile(): number | undefined {
    return this.#file?.fd;
  }

  #apply(member: TarMember): void {
    const path = normalizeName(member.name, 'entry');
    checkNumbers(member);
    checkDepth(path);
    const { parent, name } = splitName(path);
    const whiteout = classifyName(name);
    switch (whiteout.kind) {
      case 'plain':
        return this.#applyPlain(path, member);
      case 'opaque':
        return this.#tree.opaque(parent);
      case 'whiteout':
        return this.#tree.whiteout(parent === '' ? whiteout.hidden : `${parent}/${whiteout.hidden}`);
      case 'aufs':
        return;
      case 'invalid':
        throw invalidArgument('a whiteout must name what it hides');
      default:
        unreachable(whiteout);
    }
  }

  #applyPlain(path: string, member: TarMember): void {
    switch (member.type) {
      case 'directory':
        return this.#tree.directory(path, member);
      case 'file':
        this.#createFile(path, member);
        return;
      case 'symlink':
        if (member.linkName === '' || member.linkName.includes('\0')) {
          throw invalidArgument('a symbolic link needs a target');
        }
        return this.#tree.symlink(path, member.linkName, member);
      case 'link':
        return this.#tree.link(path, linkTarget(member.linkName));
      case 'character':
      case 'block':
      case 'fifo':
        return this.#tree.node(path, { ...member, type: member.type }, member);
      default:
        unreachable(member.type);
    }
  }

  #createFile(path: string, member: TarMember): void {
    const fd = this.#tree.createFile(path, member.mode);
    this.#file = { fd, path, member, content: new ContentWriter(fd, member) };
    if (member.sparse !== undefined) {
      this.#recipe.sparse(path, member.size, member.sparse);
    } else if (member.size > 0) {
      this.#recipe.content(path, member.size);
    }
  }

  /** Completes what later members could still change: links to them, times and attributes of directories. */
  finish(): void {
    this.#blamed(this.#what, () => this.#tree.finish());
  }

  #named(member: TarMember, step: () => void): void {
    this.#blamed(`${this.#what}: entry ${showName(member.name)}`, step);
  }

  /** Errors name the layer and the member; those of the disk stay what they are. */
  #blamed(where: string, step: () => void): void {
    try {
      step();
    } catch (error) {
      const code = errnoOf(error);
      if (error instanceof EngineError && error.message.startsWith('entry ')) {
        throw new EngineError(error.code, `${this.#what}: ${error.message}`, { cause: error });
      }
      if (error instanceof EngineError) {
        throw new EngineError(error.code, `${where}: ${error.message}`, { cause: error });
      }
      const isDisk = code === undefined || DISK_ERRORS.has(code);
      throw new EngineError(isDisk ? 'internal' : 'invalid_argument', `${where}: ${errorText(error)}`, {
        cause: error,
        details: { errno: code },
      });
    }
  }
}

function checkDepth(path: string): void {
  // Each level takes at least a letter and a slash: most names need no count.
  if (path.length > 2 * limits.layerDepthMax && path.split('/').length > limits.layerDepthMax) {
    throw invalidArgument(`directories nest deeper than ${limits.layerDepthMax}`);
  }
}

function linkTarget(name: string): string {
  const target = normalizeName(name, 'hard link to');
  if (target === '') {
    throw invalidArgument('hard link to the root of the layer');
  }
  return target;
}
