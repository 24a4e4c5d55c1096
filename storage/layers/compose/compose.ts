import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError, InvariantError, isEngineError } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { freeBytes } from '../../../daemon/base/kernel/files/files.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';
import { DiskReserve } from '../../disk-reserve.ts';
import { encodeHeader, padding, TAR_END } from '../../tar/encode.ts';
import type { TarMember } from '../../tar/parser.ts';
import { DIFF, RECIPE } from '../apply.ts';
import type { AppliedLayer, ApplyControl } from '../apply-request.ts';
import { LayerApplier } from '../applier.ts';
import { attributePolicy } from '../attributes.ts';
import { RecipeWriter } from '../recipe.ts';
import { LayerTree } from '../tree.ts';
import { LowerFiles } from './lower-files.ts';
import { planLayer, type ComposedFiles } from './plan.ts';
import { SourceWindow } from './source-window.ts';

export interface ComposeRequest {
  /** An existing empty directory of ours; gets `diff` and `recipe`. */
  directory: string;
  /** Its view is of what the files come over. */
  files: ComposedFiles;
}

/** `unchanged`: all of it is there already. `beyond`: it takes an overlay, or an error that has to be met there. */
export type Composed = { kind: 'layer'; layer: AppliedLayer } | { kind: 'unchanged' } | { kind: 'beyond' };

/**
 * Makes a layer of a client's files in one pass: each is read once, and written to its place while the layer's tar,
 * which is stored nowhere, goes through its digest. Runs in a worker: it blocks. Leaves a half-filled directory unless
 * it answers a layer; the caller removes it. Throws `canceled`.
 */
export function composeLayer({ directory, files }: ComposeRequest, control: ApplyControl): Composed {
  try {
    using lower = new LowerFiles(files.view);
    const members = planLayer(files, lower);
    if (members === undefined || members.length === 0) {
      return { kind: members === undefined ? 'beyond' : 'unchanged' };
    }
    const layer = write({ directory, files }, members, control);
    return layer === undefined ? { kind: 'beyond' } : { kind: 'layer', layer };
  } catch (error) {
    if (isEngineError(error, 'canceled') || error instanceof InvariantError) {
      throw error;
    }
    // Whatever it is, placing the files by an overlay meets it too and says what it is, or does without.
    return { kind: 'beyond' };
  }
}

/** Undefined where a name means more than a file: a whiteout over another member. */
function write(
  { directory, files }: ComposeRequest,
  members: readonly TarMember[],
  control: ApplyControl,
): AppliedLayer | undefined {
  const { what, source } = files;
  const diff = join(directory, DIFF);
  mkdirSync(diff, { mode: 0o755 });
  failpoint('images.build.compose');
  using root = openRoot(diff);
  using tree = new LayerTree(diff);
  const recipeFd = openSync(join(directory, RECIPE), 'wx', 0o600);
  try {
    const recipe = new RecipeWriter(recipeFd);
    const tar = new WrittenTar(new LayerApplier(tree, recipe, what));
    const reserve = new DiskReserve(() => freeBytes(root.fd), `${what}: no space left on device`);
    const content = new SourceWindow(source.fd, what);
    for (const member of members) {
      if (control.isCanceled()) {
        throw new EngineError('canceled', `${what}: canceled`);
      }
      reserve.check(tar.bytes);
      tar.member(member, content.read(member.offset, member.size));
    }
    tar.end();
    recipe.finish(tar.bytes);
    return tree.replaced
      ? undefined
      : { ...tar.result(), implied: [...tree.implied], warnings: tree.warnings };
  } finally {
    closeSync(recipeFd);
  }
}

/** A tar that becomes a layer while it is written. */
class WrittenTar {
  readonly #applier: LayerApplier;
  readonly #hash = createHash('sha256');
  bytes = 0;

  constructor(applier: LayerApplier) {
    this.#applier = applier;
  }

  member(member: TarMember, content: Iterable<Buffer>): void {
    this.#raw(headerOf(member));
    this.#applier.member(member);
    try {
      for (const chunk of content) {
        this.#seen(chunk);
        this.#applier.data(chunk);
      }
    } catch (error) {
      const { openFile } = this.#applier;
      if (openFile !== undefined) {
        closeSync(openFile);
      }
      throw error;
    }
    this.#applier.memberEnd();
    this.#raw(padding(member.size));
  }

  end(): void {
    this.#raw(TAR_END);
    this.#applier.finish();
  }

  result(): Pick<AppliedLayer, 'diffId' | 'digest' | 'tarBytes' | 'contentBytes'> {
    const diffId = `sha256:${this.#hash.digest('hex')}`;
    return { diffId, digest: diffId, tarBytes: this.bytes, contentBytes: this.#applier.contentBytes };
  }

  #raw(bytes: Buffer): void {
    this.#seen(bytes);
    this.#applier.raw(bytes);
  }

  #seen(bytes: Buffer): void {
    this.#hash.update(bytes);
    this.bytes += bytes.length;
  }
}

function headerOf(member: TarMember): Buffer {
  const { type, name, mode, attributes } = member;
  return encodeHeader({
    ...member,
    name: type === 'directory' ? `${name}/` : name,
    mode: type === 'symlink' ? 0o777 : mode,
    attributes: new Map(
      type === 'symlink' ? [] : [...attributes].filter(([key]) => attributePolicy(key) === 'apply'),
    ),
  });
}
