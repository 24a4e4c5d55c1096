/** `tsx scripts/busybox-image.ts FILE`: writes an image tarball made of this machine's busybox, for `docker load`. */
import { writeFileSync } from 'node:fs';
import { busyboxImageTar } from '../test/support/images/images.ts';

const file = process.argv[2];
if (file === undefined) {
  console.error('usage: busybox-image.ts FILE');
  process.exitCode = 2;
} else {
  writeFileSync(file, busyboxImageTar());
}
