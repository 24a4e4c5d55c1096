import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { debootstrap, run, type Suite } from '../debootstrap.ts';

/** What a guest boots from. The files are shared by all runs and never written to. */
export interface BaseImage {
  disk: string;
  kernel: string;
  initrd: string;
  /** Private key of the guest's root. */
  key: string;
}

/** What a server with Berth has, and what the tests call: no compiler, no npm registry, no Debian mirror. */
const PACKAGES = (
  'systemd systemd-sysv dbus udev kmod linux-image-cloud-amd64 initramfs-tools ' +
  'ca-certificates runc conmon nftables iproute2 procps tini ' +
  'openssh-server busybox-static curl netbase python3 git libstdc++6 xz-utils bzip2 zstd ' +
  'e2fsprogs xfsprogs etcd-server'
).split(' ');
/** Besides: Debian 13 has the dockerd whose routing mesh is IPVS of a current release, for the step `mesh`. */
const REFERENCE: Readonly<Record<Suite, readonly string[]>> = { bookworm: [], trixie: ['docker.io'] };
/** Services that packages bring and that nobody is to start: Berth starts an etcd of its own, the tests a dockerd. */
const IDLE: Readonly<Record<Suite, readonly string[]>> = {
  bookworm: ['etcd.service'],
  trixie: ['etcd.service', 'docker.service', 'docker.socket', 'containerd.service'],
};
/** Counted up when the code below makes something else of the same lists. */
const RECIPE = 2;
/** An image of another recipe is removed when it is as old as this. */
const KEPT_MS = 24 * 3_600_000;
const DISK_SIZE = '6G';
/** Where the repository's disk is mounted in the guest. */
export const GUEST_REPOSITORY = '/root/berth';

/** Files of the guest, over what the packages bring. */
const FILES: Readonly<Record<string, string>> = {
  '/etc/hostname': 'berth-vm\n',
  '/etc/berth-vm': 'Made by scripts/vm: whatever runs here belongs to the tests.\n',
  '/etc/fstab': `/dev/vda / ext4 defaults,errors=panic 0 1
/dev/vdb ${GUEST_REPOSITORY} ext4 defaults,nofail,x-systemd.device-timeout=900 0 0
`,
  '/etc/systemd/network/80-all.network': '[Match]\nName=en*\n\n[Network]\nDHCP=yes\n',
  '/etc/systemd/journald.conf.d/vm.conf': '[Journal]\nStorage=persistent\nRateLimitBurst=0\n',
};

/** The image of this recipe, made when there is none. `say` gets a line per step. */
export function baseImage(cache: string, suite: Suite, say: (line: string) => void): BaseImage {
  const folder = path.join(cache, recipeKey(suite));
  const image = {
    disk: path.join(folder, 'disk.raw'),
    kernel: path.join(folder, 'vmlinuz'),
    initrd: path.join(folder, 'initrd'),
    key: path.join(folder, 'key'),
  };
  if (existsSync(folder)) {
    return image;
  }
  say(`making an image of ${suite} in ${cache} (once per recipe)`);
  mkdirSync(cache, { recursive: true });
  const draft = path.join(cache, `draft-${process.pid}`);
  try {
    mkdirSync(draft);
    makeImage(draft, suite);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  for (const other of readdirSync(cache).filter((name) => /^[0-9a-f]{16}$/.test(name))) {
    const old = path.join(cache, other);
    // A run beside this one boots from its image again after each power cut.
    if (Date.now() - statSync(old).mtimeMs > KEPT_MS) {
      rmSync(old, { recursive: true });
    }
  }
  return image;
}

/** A disk with the repository as it stands here: sources, dist/, node_modules/; and beside them a Debian package. */
export function repositoryDisk(
  file: string,
  repositoryRoot: string,
  files: readonly string[],
  debianPackage?: string,
): void {
  const stage = `${file}.stage`;
  try {
    if (debianPackage !== undefined) {
      cpSync(debianPackage, path.join(stage, path.basename(debianPackage)));
    }
    for (const name of [...files, 'dist', 'node_modules']) {
      // The folder itself may be a link; the links inside (.bin) have to stay links.
      const source = realpathSync(path.join(repositoryRoot, name));
      cpSync(source, path.join(stage, name), { recursive: true, verbatimSymlinks: true });
    }
    run('mkfs.ext4', '-q', '-F', '-E', 'root_owner=0:0', '-d', stage, file, '1G');
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** What goes into the image. The packages' versions do not count: remove the cache to have newer ones. */
function recipeKey(suite: Suite): string {
  const recipe = [RECIPE, suite, PACKAGES, REFERENCE[suite], FILES, DISK_SIZE, process.version];
  return createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 16);
}

function makeImage(folder: string, suite: Suite): void {
  const root = path.join(folder, 'root');
  debootstrap(root, [...PACKAGES, ...REFERENCE[suite]], suite);
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  mkdirSync(path.join(root, GUEST_REPOSITORY));
  run('chroot', root, 'systemctl', 'enable', 'systemd-networkd', 'ssh');
  // Work at times of their own choosing, in measured seconds.
  run('chroot', root, 'systemctl', 'mask', 'apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_all.timer');
  run('chroot', root, 'systemctl', 'disable', ...IDLE[suite]);
  installNode(root);
  installKey(root, path.join(folder, 'key'));
  for (const [name, target] of [
    ['vmlinuz-', 'vmlinuz'],
    ['initrd.img-', 'initrd'],
  ] as const) {
    const found = readdirSync(path.join(root, 'boot')).find((file) => file.startsWith(name));
    if (found === undefined) {
      throw new Error(`the image has no /boot/${name}*`);
    }
    cpSync(path.join(root, 'boot', found), path.join(folder, target));
  }
  run('mkfs.ext4', '-q', '-F', '-d', root, path.join(folder, 'disk.raw'), DISK_SIZE);
  rmSync(root, { recursive: true });
}

/** This machine's Node.js, for tests: Debian has an older one. Fails where the guest's libraries do not carry it. */
function installNode(root: string): void {
  const npm = path.resolve(path.dirname(process.execPath), '../lib/node_modules/npm');
  cpSync(process.execPath, path.join(root, 'usr/local/bin/node'));
  chmodSync(path.join(root, 'usr/local/bin/node'), 0o755);
  cpSync(npm, path.join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  for (const command of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${command}-cli.js`, path.join(root, 'usr/local/bin', command));
  }
  run('chroot', root, '/usr/local/bin/node', '--version');
}

function installKey(root: string, key: string): void {
  run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'scripts/vm', '-f', key);
  mkdirSync(path.join(root, 'root/.ssh'), { recursive: true, mode: 0o700 });
  cpSync(`${key}.pub`, path.join(root, 'root/.ssh/authorized_keys'));
}
