/** A process of its own that loads a tarball from standard input, to be killed at a failpoint. */
import { ImagesRig, collect } from './images-rig.ts';

const [dataRoot, verb] = process.argv.slice(2);
if (dataRoot === undefined) {
  throw new Error('usage: load-and-die DATA_ROOT load|remove');
}
const rig = new ImagesRig(dataRoot);
await rig.images.restore();
if (verb === 'remove') {
  await rig.images.remove('busybox:latest', { force: false, noprune: false });
} else {
  const options = { quiet: true, signal: new AbortController().signal };
  await collect(rig.images.load(process.stdin, options));
}
