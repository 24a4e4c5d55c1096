import type { TarMember, TarSink } from './parser.ts';

/** Makes further names of one file (`sharedWith`) links to the first of them that comes. */
export class LinkingSink implements TarSink {
  readonly #inner: TarSink;
  readonly #firstNames = new Map<string, string>();
  #isLink = false;

  constructor(inner: TarSink) {
    this.#inner = inner;
  }

  raw(bytes: Buffer): void {
    this.#inner.raw(bytes);
  }

  member(member: TarMember): void {
    const first = this.#firstName(member);
    this.#isLink = first !== undefined;
    const { sparse: _, ...plain } = member;
    this.#inner.member(first === undefined ? member : { ...plain, type: 'link', linkName: first, size: 0 });
  }

  data(bytes: Buffer): void {
    if (!this.#isLink) {
      this.#inner.data(bytes);
    }
  }

  memberEnd(): void {
    this.#inner.memberEnd();
  }

  #firstName({ type, name, sharedWith }: TarMember): string | undefined {
    if (type !== 'file' || sharedWith === undefined) {
      return undefined;
    }
    const first = this.#firstNames.get(sharedWith);
    if (first === undefined) {
      this.#firstNames.set(sharedWith, name);
    }
    return first;
  }
}
