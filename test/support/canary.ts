import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const TEXT = 'untouched';

/** A folder that hostile input aims at. */
export class Canary implements Disposable {
  readonly folder: string;
  readonly file: string;
  readonly #before: string;

  /** `folder` must not exist yet. */
  constructor(folder: string) {
    this.folder = folder;
    this.file = path.join(folder, 'file');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(this.file, TEXT, { mode: 0o600 });
    this.#before = this.#look();
  }

  /** undefined = nothing has changed: names, contents, modes, owners, links and times. */
  changes(): { before: string; after: string } | undefined {
    const after = this.#look();
    return after === this.#before ? undefined : { before: this.#before, after };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #look(): string {
    const facts = [this.folder, this.file].map((target) => {
      const { mode, uid, gid, nlink, ino, mtimeNs, ctimeNs, size } = lstatSync(target, { bigint: true });
      return [mode, uid, gid, nlink, ino, mtimeNs, ctimeNs, size].join(' ');
    });
    return [...facts, ...readdirSync(this.folder), readFileSync(this.file, 'utf8')].join('\n');
  }
}
