import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';
import { KernelMounts } from '../../../runtime/mounts/kernel-mounts.ts';
import { Archives } from '../../../storage/files/archives.ts';
import { needs } from '../../support/needs.ts';
import { untar } from '../../support/images/untar.ts';

/** What is below, what lies over it, and a tar of what the one has of the other. */
class Bed implements AsyncDisposable {
  readonly #base = mkdtempSync(join(tmpdir(), 'bth-diff-'));
  readonly #mounts = new KernelMounts({ viewPoint: this.#path('view'), temporary: this.#path('tmp') });
  readonly lower = this.#path('lower');
  readonly merged = this.#path('merged');

  constructor() {
    [this.lower, this.merged, this.#path('upper'), this.#path('work')].forEach((path) => mkdirSync(path));
  }

  async mount(): Promise<void> {
    const [lowers, upper, work] = [[this.lower], this.#path('upper'), this.#path('work')];
    await this.#mounts.prepare();
    await this.#mounts.overlay({ lowers, upper, work, merged: this.merged }, { readonly: false });
  }

  async members(): Promise<ReturnType<typeof untar>> {
    await using archives = new Archives();
    using own = openRoot(this.#path('upper'));
    using below = openRoot(this.lower);
    using seen = this.#mounts.hiddenCopy(this.merged);
    const file = openSync(this.#path('tar'), 'wx');
    await archives.layer({ upper: own.fd, merged: seen.fd, lower: below.fd }, file);
    closeSync(file);
    return untar(readFileSync(this.#path('tar')));
  }

  #path(name: string): string {
    return join(this.#base, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mounts.unmount(this.merged);
    rmSync(this.#base, { recursive: true, force: true });
  }
}

needs('root', 'overlay')('the layer of what a container changed', () => {
  test('holds what is new or different, and a whiteout for what is gone', async () => {
    await using bed = new Bed();
    mkdirSync(join(bed.lower, 'd/sub'), { recursive: true });
    ['d/gone', 'd/changed', 'd/same', 'd/sub/inner'].forEach((name) =>
      writeFileSync(join(bed.lower, name), name),
    );
    await bed.mount();
    const at = (name: string): string => join(bed.merged, name);
    rmSync(at('d/gone'));
    writeFileSync(at('d/changed'), 'other');
    chmodSync(at('d/changed'), 0o4700);
    rmSync(at('d/sub'), { recursive: true });
    mkdirSync(at('d/sub'));
    symlinkSync('changed', at('d/link'));
    writeFileSync(at('new'), 'n');
    renameSync(at('new'), at('d/moved'));
    const members = await bed.members();
    expect(
      members.map(({ name, mode, content }) => `${name} ${mode.toString(8)} ${content.toString()}`),
    ).toEqual([
      'd/ 755 ',
      'd/changed 4700 other',
      'd/.wh.gone 0 ',
      'd/link 777 ',
      'd/moved 644 n',
      'd/sub/ 755 ',
      'd/sub/.wh.inner 0 ',
    ]);
  });

  test('holds what nothing but attributes or contents tell from what was there', async () => {
    await using bed = new Bed();
    const below = (name: string): string => join(bed.lower, name);
    mkdirSync(below('marked'));
    ['capable', 'lost', 'rewritten', 'touched'].forEach((name) => writeFileSync(below(name), 'one'));
    marked(below('lost'));
    // As builds leave it that can be repeated.
    ['lost', 'rewritten', 'touched'].forEach((name) => utimesSync(below(name), 1, 1));
    await bed.mount();
    const at = (name: string): string => join(bed.merged, name);
    // `setcap` and `setfacl` leave the time of a file as it was.
    ['capable', 'marked'].forEach((name) => marked(at(name)));
    rmSync(at('lost'));
    writeFileSync(at('lost'), 'one');
    writeFileSync(at('rewritten'), 'two');
    writeFileSync(at('touched'), 'one');
    ['lost', 'rewritten', 'touched'].forEach((name) => utimesSync(at(name), 1, 1));
    const members = await bed.members();
    expect(
      members.map(({ name, attributes, content }) => [name, attributes.size, content.toString()]),
    ).toEqual([
      ['capable', 1, 'one'],
      ['lost', 0, 'one'],
      ['marked/', 1, ''],
      ['rewritten', 0, 'two'],
    ]);
  });
});

function marked(path: string): void {
  const fd = openSync(path, 'r');
  setAttribute(fd, 'user.mark', Buffer.from('yes'));
  closeSync(fd);
}
