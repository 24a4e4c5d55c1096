import { ignoreTest } from '../../daemon/base/dockerfile/ignore.ts';
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
  /** As chmod(1) takes it; `''` = as they are. */
  chmod: string;
}

/** Leaves out members, and changes modes, before another sink gets them. */
export class AdjustingSink implements TarSink {
  readonly #inner: TarSink;
  readonly #prefix: string;
  readonly #isExcluded: (path: string) => boolean;
  readonly #chmod: ModeChange;
  #isSkipping = false;

  /** Throws invalid_argument for a pattern or a mode that cannot be read. */
  constructor(inner: TarSink, { prefix, exclude, chmod }: Adjustment) {
    this.#inner = inner;
    this.#prefix = prefix;
    this.#isExcluded = exclude.length === 0 ? () => false : ignoreTest(exclude.join('\n'));
    this.#chmod = chmod === '' ? (mode) => mode : parseChmod(chmod);
  }

  raw(bytes: Buffer): void {
    this.#inner.raw(bytes);
  }

  member(member: TarMember): void {
    const path = this.#below(member.name.replace(/\/+$/, ''));
    this.#isSkipping = path !== '' && this.#isExcluded(toText(path));
    if (!this.#isSkipping) {
      const isDirectory = member.type === 'directory';
      const isLink = member.type === 'symlink' || member.type === 'link';
      this.#inner.member(isLink ? member : { ...member, mode: this.#chmod(member.mode, isDirectory) });
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

  #below(name: string): string {
    if (this.#prefix === '') {
      return name;
    }
    return name === this.#prefix ? splitName(name).name : name.slice(this.#prefix.length + 1);
  }
}
