import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const MIB = 1024 * 1024;

export interface SmallDiskOptions {
  mib: number;
  inodes?: number;
  /** Bytes of a block of the file system; mkfs decides when it is left out. */
  blockBytes?: 1024 | 4096;
}

/** An ext4 in a file, mounted on a folder; tests fill it and free it again. */
export class SmallDisk {
  readonly path: string;
  readonly #file: string;
  readonly #ballast: string;

  constructor(folder: string, { mib, inodes, blockBytes }: SmallDiskOptions) {
    this.#file = `${folder}.ext4`;
    this.path = folder;
    this.#ballast = path.join(folder, 'ballast');
    mkdirSync(folder, { recursive: true });
    execFileSync('truncate', ['-s', `${mib}M`, this.#file]);
    execFileSync('mkfs.ext4', [
      '-q',
      '-F',
      ...(inodes === undefined ? [] : ['-N', String(inodes)]),
      ...(blockBytes === undefined ? [] : ['-b', String(blockBytes)]),
      // No blocks are reserved for root: else the daemon would go on where other users meet a full disk.
      '-m',
      '0',
      this.#file,
    ]);
    this.#mount();
  }

  /** Bytes that are left. */
  get room(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Leaves so many bytes. */
  fill(bytesLeft: number): void {
    execFileSync('fallocate', ['-l', String(this.room - bytesLeft), this.#ballast]);
  }

  /** Leaves nothing. */
  fillUp(): void {
    if (!existsSync(this.#ballast)) {
      this.fill(8 * MIB);
    }
    // Ends when the disk does.
    spawnSync('dd', ['if=/dev/zero', `of=${this.#ballast}`, 'oflag=append', 'conv=notrunc', 'bs=64k']);
  }

  /** Leaves so many inodes. */
  useInodes(left: number): void {
    const { ffree } = statfsSync(this.path);
    mkdirSync(this.#ballast);
    for (let index = 0; index < ffree - left - 1; index += 1) {
      writeFileSync(path.join(this.#ballast, `${index}`), '');
    }
  }

  free(): void {
    rmSync(this.#ballast, { recursive: true, force: true });
  }

  /** Makes the kernel take it for broken, as after an error of the device: it is read-only from then on. */
  breakDown(): void {
    const device = execFileSync('findmnt', ['-no', 'SOURCE', this.path], { encoding: 'utf8' }).trim();
    writeFileSync(`/sys/fs/ext4/${path.basename(device)}/trigger_fs_error`, '1');
  }

  /** As an administrator does it, with all that is mounted below. False while a process uses it. */
  mend(): boolean {
    if (spawnSync('umount', ['--recursive', this.path]).status !== 0) {
      return false;
    }
    // Mount namespaces of processes that are ending have it for a moment longer, and must not see it repaired.
    while (execFileSync('losetup', ['--associated', this.#file], { encoding: 'utf8' }) !== '') {
      spawnSync('sleep', ['0.05']);
    }
    // 1 = errors were corrected.
    const { status } = spawnSync('e2fsck', ['-f', '-y', this.#file], { stdio: 'ignore' });
    if (status !== 0 && status !== 1) {
      throw new Error(`e2fsck of ${this.#file} ended with ${status}`);
    }
    this.#mount();
    return true;
  }

  unmount(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.#file, { force: true });
  }

  #mount(): void {
    execFileSync('mount', ['-o', 'loop,errors=remount-ro', this.#file, this.path]);
    rmSync(path.join(this.path, 'lost+found'), { recursive: true, force: true });
  }
}
