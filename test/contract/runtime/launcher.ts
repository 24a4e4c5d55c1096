/**
 * Stands in for a daemon that is killed: launches one container, lets it go, and with `clean` ends and removes it.
 *   node --import tsx launcher.ts <base> <cgroup parent> <id> <script> stay|clean
 */
import { join } from 'node:path';
import { makeSpec, openRuntime } from './fixture.ts';

const [base = '', cgroupParent = '', id = '', script = '', mode = ''] = process.argv.slice(2);
const runtime = openRuntime(base, cgroupParent);
const spec = makeSpec({
  rootfs: join(base, 'rootfs'),
  args: ['sh', '-c', script],
  terminal: false,
  cgroupsPath: `${cgroupParent}/${id}`,
});
await runtime.launch({
  id,
  runtime: 'runc',
  spec,
  terminal: false,
  stdin: 'open',
  logPath: join(base, `${id}.log`),
  logBytesMax: null,
});
await runtime.begin(id);
if (mode === 'clean') {
  await runtime.killAll(id);
  await runtime.cleanUp(id);
  runtime.forgetExit(id);
  process.exit(0);
}
process.stdout.write('ready\n');
setInterval(() => undefined, 1000);
