import { patternTest } from '../../daemon/base/dockerfile/ignore.ts';
import { toText } from './view.ts';
import { parseChmod, type ModeChange } from './chmod.ts';
import { splitName } from '../tar/names.ts';
import type { TarMember, TarSink } from '../tar/parser.ts';

/** What becomes of members on their way. */
export interface Adjustment {
  /** What they all lie in, or are: patterns are of paths below it. A byte string. */
  prefix: string;
  /** Patterns as of a `.dockerignore`; what they match is left out. */
  exclude: readonly string[];
  /** Only what these match, and what lies in it, is let through, with the directories that it lies in; empty = all. */
  include?: readonly string[];
  /** No pattern is of the member called `prefix` itself. */
  keepsRoot?: boolean;
  /** As chmod(1) takes it; `''` = as they are. */
  chmod: string;
}

/** Leaves out members, and changes modes, before another sink gets them. */
export class AdjustingSink implements TarSink {
  readonly #inner: TarSink;
  readonly #prefix: string;
  readonly #keepsRoot: boolean;
  readonly #isLeftOut: (path: string) => boolean;
  readonly #chmod: ModeChange;
  /** Directories that are left out unless something in them is not: each lies in the one before it. */
  #pending: TarMember[] = [];
  #isSkipping = false;

  /** Throws invalid_argument for a pattern or a mode that cannot be read. */
  constructor(inner: TarSink, { prefix, exclude, include = [], keepsRoot = false, chmod }: Adjustment) {
    this.#inner = inner;
    this.#prefix = prefix;
    this.#keepsRoot = keepsRoot;
    const isExcluded = exclude.length === 0 ? () => false : patternTest(exclude);
    const isIncluded = include.length === 0 ? () => true : patternTest(include);
    this.#isLeftOut = (path) => !isIncluded(path) || isExcluded(path);
    this.#chmod = chmod === '' ? (mode) => mode : parseChmod(chmod);
  }

  raw(bytes: Buffer): void {
    this.#inner.raw(bytes);
  }

  member(member: TarMember): void {
    const name = plainName(member);
    const path = this.#below(name);
    this.#pending = this.#pending.filter((above) => name.startsWith(`${plainName(above)}/`));
    this.#isSkipping = path !== '' && this.#isLeftOut(toText(path));
    if (!this.#isSkipping) {
      for (const above of this.#pending.splice(0)) {
        this.#pass(above);
        this.#inner.memberEnd();
      }
      this.#pass(member);
    } else if (member.type === 'directory') {
      this.#pending.push(member);
    }
  }

  data(bytes: Buffer): void {
    if (!this.#isSkipping) {
      this.#inner.data(bytes);
    }
  }

  memberEnd(): void {
    if (!this.#isSkipping) {
      this.#inner.memberEnd();
    }
  }

  #pass(member: TarMember): void {
    const isDirectory = member.type === 'directory';
    const isLink = member.type === 'symlink' || member.type === 'link';
    this.#inner.member(isLink ? member : { ...member, mode: this.#chmod(member.mode, isDirectory) });
  }

  #below(name: string): string {
    if (name === this.#prefix) {
      return this.#keepsRoot ? '' : splitName(name).name;
    }
    return this.#prefix === '' ? name : name.slice(this.#prefix.length + 1);
  }
}

function plainName({ name }: TarMember): string {
  return name.replace(/\/+$/, '');
}
