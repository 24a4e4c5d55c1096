import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../../daemon/base/ids.ts';
import type { ProcessIdentity } from '../../../daemon/base/kernel/processes/process.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { detectCgroups } from '../../../runtime/cgroups/detect.ts';
import { cgroupDirectories, cgroupsPathOf } from '../../../runtime/cgroups/paths.ts';
import type { ContainerExit } from '../../../runtime/monitor/exit-watch.ts';
import type { ConmonStdio } from '../../../runtime/monitor/conmon-stdio.ts';
import { ConmonRuntime } from '../../../runtime/runc/conmon-runtime.ts';
import type { LaunchRequest } from '../../../runtime/runc/launch-request.ts';
import type { ConmonRuntimeDeps } from '../../../runtime/runc/parts.ts';
import type { OciProcess, OciSpec } from '../../../runtime/runc/spec-types.ts';
import { until } from '../../support/engine/http.ts';

/** A runtime of its own over a busybox root directory, and everything needed to see what it leaves behind. */
export interface RuntimeFixture extends AsyncDisposable {
  base: string;
  execRoot: string;
  rootfs: string;
  cgroupParent: string;
  runtime: ConmonRuntime;
  exits: ContainerExit[];
  /** Launches and lets go. */
  run(args: string[], options?: Partial<LaunchRequest> & { process?: Partial<OciProcess> }): Promise<Started>;
  launch(
    args: string[],
    options?: Partial<LaunchRequest> & { process?: Partial<OciProcess> },
  ): Promise<Started>;
  exit(id: string): Promise<ContainerExit>;
  /** Everything that exists for containers of this runtime; empty after a clean removal. */
  remains(): Promise<string[]>;
}

export interface Started {
  id: string;
  init: ProcessIdentity;
}

export function openRuntime(
  base: string,
  cgroupParent: string,
  overrides: Partial<ConmonRuntimeDeps> = {},
): ConmonRuntime {
  const { layout } = detectCgroups();
  return new ConmonRuntime({
    runcPath: which('runc'),
    runtimes: new Map(),
    conmonPath: which('conmon'),
    execRoot: join(base, 'exec'),
    cgroup: { layout, driver: 'cgroupfs', parent: cgroupParent },
    log: silentLogger,
    ...overrides,
  });
}

export function makeRuntime(): RuntimeFixture {
  const base = mkdtempSync(join(tmpdir(), 'bth-runtime-'));
  const cgroupParent = `/berth-test-${base.slice(-6).toLowerCase()}`;
  const rootfs = makeRootfs(join(base, 'rootfs'));
  const runtime = openRuntime(base, cgroupParent);
  const exits: ContainerExit[] = [];
  const waiting = new Map<string, (exit: ContainerExit) => void>();
  runtime.onExit((exit) => {
    exits.push(exit);
    waiting.get(exit.id)?.(exit);
  });
  const { layout } = detectCgroups();
  const launch: RuntimeFixture['launch'] = async (args, options = {}) => {
    const id = options.id ?? newId();
    const terminal = options.terminal ?? false;
    const spec = makeSpec({
      rootfs,
      args,
      terminal,
      cgroupsPath: cgroupsPathOf('cgroupfs', cgroupParent, id),
    });
    Object.assign(spec.process, options.process);
    const init = await runtime.launch({
      id,
      runtime: 'runc',
      spec,
      terminal,
      stdin: 'none',
      logPath: null,
      logBytesMax: null,
      ...options,
    });
    return { id, init };
  };
  return {
    base,
    execRoot: join(base, 'exec'),
    rootfs,
    cgroupParent,
    runtime,
    exits,
    launch,
    async run(args, options) {
      const started = await launch(args, options);
      await runtime.begin(started.id);
      return started;
    },
    exit: (id) =>
      new Promise((resolve) => {
        const known = exits.find((exit) => exit.id === id);
        if (known) {
          resolve(known);
        } else {
          waiting.set(id, resolve);
        }
      }),
    async remains() {
      const directories = ['containers', 'runc', 'exits'].flatMap((name) =>
        readdirSync(join(base, 'exec', name)).map((entry) => `${name}/${entry}`),
      );
      return [...directories, ...(await runtime.leftovers())];
    },
    async [Symbol.asyncDispose]() {
      for (const id of await runtime.leftovers()) {
        await runtime.cleanUp(id);
      }
      runtime[Symbol.dispose]();
      for (const directory of cgroupDirectories(layout, cgroupParent)) {
        await until('its cgroup to go', () => removed(directory));
      }
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** False while the kernel has not seen the end of all that was in a cgroup. */
function removed(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return !existsSync(directory);
  }
}

/** Everything a channel says, until its end. */
export async function readAll(channel: ConmonStdio): Promise<{ stdout: Buffer; stderr: Buffer }> {
  const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for await (const { stream, data } of channel.output) {
    parts[stream].push(data);
  }
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

export function makeProcess(args: string[], terminal = false): OciProcess {
  const capabilities = ['CAP_KILL', 'CAP_DAC_OVERRIDE'];
  return {
    terminal,
    user: { uid: 0, gid: 0 },
    args,
    env: ['PATH=/bin', 'TERM=xterm'],
    cwd: '/',
    noNewPrivileges: true,
    capabilities: {
      bounding: capabilities,
      effective: capabilities,
      permitted: capabilities,
      inheritable: [],
      ambient: [],
    },
  };
}

export function makeSpec(options: {
  rootfs: string;
  args: string[];
  terminal: boolean;
  cgroupsPath: string;
}): OciSpec {
  return {
    ociVersion: '1.0.2',
    process: makeProcess(options.args, options.terminal),
    root: { path: options.rootfs, readonly: false },
    hostname: 'test',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
      },
    ],
    linux: {
      namespaces: [{ type: 'pid' }, { type: 'ipc' }, { type: 'uts' }, { type: 'mount' }, { type: 'network' }],
      cgroupsPath: options.cgroupsPath,
      resources: { devices: [{ allow: true, access: 'rwm' }] },
    },
  };
}

function makeRootfs(path: string): string {
  for (const name of ['bin', 'proc', 'dev', 'tmp', 'etc']) {
    mkdirSync(join(path, name), { recursive: true });
  }
  copyFileSync('/bin/busybox', join(path, 'bin/busybox'));
  for (const applet of [
    'sh',
    'cat',
    'sleep',
    'echo',
    'dd',
    'stty',
    'true',
    'kill',
    'ls',
    'readlink',
    'wc',
    'yes',
  ]) {
    symlinkSync('busybox', join(path, 'bin', applet));
  }
  return path;
}

function which(name: string): string {
  const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/bin'];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(`${name} is not installed`);
  }
  return found;
}
