import { spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { kill, killProcessesNaming, removeCgroup, removeTree } from './cleanup.ts';
import { HttpClient, sleep, until } from './http.ts';
import { busyboxImageTar, type ImageTarOptions } from '../images/images.ts';
import { WAIT_MS } from '../patience.ts';
import { inTrixie } from '../trixie.ts';
import { TestNetns, type DaemonNetwork } from './netns.ts';

/** Where a daemon finds its programs; `BERTH_TEST_ETCD` names another program `etcd` than the one of this machine. */
const SEARCHED = [
  ...[process.env['BERTH_TEST_ETCD'] ?? ''].filter(Boolean).map((etcd) => path.dirname(etcd)),
  '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
].join(':');

export interface TestDaemonOptions {
  /** Keys of daemon.json, over those every test daemon gets. */
  config?: Record<string, unknown>;
  /** Environment of the daemon: failpoints and the like. */
  env?: Record<string, string>;
  /** `dockerd` runs Debian's Docker daemon instead: the benchmark's other side, and a check of the tests themselves. */
  engine?: EngineKind;
  /** Lets failpoints be armed while it runs, and traces those it passes. */
  armable?: boolean;
  /** Lets berthd watch its event loop (scripts/bench/loop-delay.ts). */
  watchLoop?: boolean;
  /** Shows the daemon's log on this terminal instead of keeping it in a file. */
  terminal?: boolean;
  /** A JavaScript program to run instead of dist/, with the command line of berthd. */
  program?: string;
  /** Gives its network namespace a way to the host and back (10.N.0.1 and .2). */
  uplink?: number;
  /** What its host is called; this machine's name otherwise. */
  hostname?: string;
}

/**
 * Which program a test daemon is. BERTH_TEST_ENGINE=dockerd runs a whole test file against the reference, Docker 20.10
 * of Debian 12; dockerd26 against that of Debian 13.
 */
export type EngineKind = 'berthd' | 'dockerd' | 'dockerd26';

/** The reference that BERTH_TEST_ENGINE names, if it names one. */
export function referenceOf(name: string | undefined): 'dockerd' | 'dockerd26' | undefined {
  return name === 'dockerd' || name === 'dockerd26' ? name : undefined;
}

/** What one daemon has for itself. */
export interface Place {
  name: string;
  paths: DaemonPaths;
  netns: DaemonNetwork;
  /** Below every hierarchy's mount point: `/bt1-1`, or `/bt1_1.slice` under the systemd driver. */
  cgroupParent: string;
}

/** Where things of one daemon are. All of it is made by the test and removed by `dispose`. */
export interface DaemonPaths {
  root: string;
  dataRoot: string;
  execRoot: string;
  socket: string;
  pidFile: string;
  config: string;
  log: string;
  failpointTrace: string;
  failpoints: string;
  loopDelay: string;
}

const MAIN = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
let counter = 0;

/**
 * A real berthd from dist/ with scratch roots below /tmp and /dev/shm, a network namespace, a cgroup parent and an
 * instance name of its own, so that many run on one machine.
 *
 *   await using daemon = await TestDaemon.start();
 *   await daemon.http.ok('GET', '/version');
 */
export class TestDaemon implements AsyncDisposable {
  readonly name: string;
  readonly paths: DaemonPaths;
  readonly netns: DaemonNetwork;
  readonly cgroupParent: string;
  readonly engine: EngineKind;
  readonly http: HttpClient;
  readonly #env: Record<string, string>;
  readonly #terminal: boolean;
  readonly #program: string | undefined;
  readonly #hostname: string | undefined;
  #child: ChildProcess | undefined;
  #armings = 0;
  /** Length of the trace, in bytes, when failpoints were armed last. */
  #armedAt = 0;

  protected constructor(options: TestDaemonOptions, place: Place = scratchPlace(options)) {
    this.engine = options.engine ?? referenceOf(process.env['BERTH_TEST_ENGINE']) ?? 'berthd';
    this.name = place.name;
    this.paths = place.paths;
    this.netns = place.netns;
    this.cgroupParent = place.cgroupParent;
    this.#env = {
      ...(options.watchLoop === true && { BERTH_LOOP_DELAY_FILE: this.paths.loopDelay }),
      ...(options.armable === true && {
        BERTH_FAILPOINT_FILE: this.paths.failpoints,
        BERTH_FAILPOINT_TRACE: this.paths.failpointTrace,
      }),
    };
    if (options.armable === true) {
      this.arm('');
    }
    this.#terminal = options.terminal === true;
    this.#program = options.program;
    this.#hostname = options.hostname;
    this.http = new HttpClient(this.paths.socket);
    this.configure(options.config ?? {});
  }

  /** Starts a daemon and waits until it answers. */
  static async start(options: TestDaemonOptions = {}): Promise<TestDaemon> {
    const daemon = new TestDaemon(options);
    try {
      await daemon.up(options.env);
    } catch (error) {
      await daemon[Symbol.asyncDispose]();
      throw error;
    }
    return daemon;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) {
      throw new Error(`${this.name} is not running`);
    }
    return this.#child.pid;
  }

  /** True until the process has ended. */
  isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Writes daemon.json; effective at the next start, or at once by SIGHUP for reloadable keys. */
  configure(config: Record<string, unknown>): void {
    writeFileSync(
      this.paths.config,
      JSON.stringify({
        'data-root': this.paths.dataRoot,
        'exec-root': this.paths.execRoot,
        hosts: [`unix://${this.paths.socket}`],
        pidfile: this.paths.pidFile,
        ...cgroupSettings(this.cgroupParent),
        ...(this.engine !== 'berthd'
          ? { 'storage-driver': 'overlay2', 'log-level': 'warn' }
          : { instance: this.name, 'log-level': 'debug', 'plugin-folders': [`${this.paths.root}/plugins`] }),
        ...config,
      }),
    );
  }

  /** Starts the process and waits until it answers, or fails with the end of its log. */
  async up(env: Record<string, string> = {}): Promise<void> {
    this.launch(env);
    await until(`${this.name} to answer`, async () => {
      if (!this.isRunning()) {
        throw new Error(`${this.name} ended at its start:\n${this.log().slice(-4000)}`);
      }
      return existsSync(this.paths.socket) && (await this.#answers());
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.log().slice(-4000)}`, { cause: error });
    });
  }

  /** Starts the process without waiting: for daemons that are to die or to refuse. */
  launch(env: Record<string, string> = {}): ChildProcess {
    const [file, ...args] = this.netns.enter(...this.#named(this.#commandLine()));
    const log = openSync(this.paths.log, 'a');
    try {
      // A session of its own, as under systemd: a signal to the test's group is not meant for the daemon.
      this.#child = spawn(file, args, {
        cwd: '/',
        detached: true,
        stdio: this.#terminal ? ['ignore', 'inherit', 'inherit'] : ['ignore', log, log],
        env: {
          PATH: SEARCHED,
          ...this.#env,
          ...env,
        },
      });
    } finally {
      closeSync(log);
    }
    return this.#child;
  }

  /** Arms failpoints (as BERTH_FAILPOINTS) in place of those armed before; passings are counted from here on. */
  arm(text: string): void {
    this.#armings += 1;
    const fresh = `${this.paths.failpoints}.new`;
    this.#armedAt = statSync(this.paths.failpointTrace, { throwIfNoEntry: false })?.size ?? 0;
    writeFileSync(fresh, `test.arming.number=delay(${this.#armings});${text}`);
    renameSync(fresh, this.paths.failpoints);
  }

  /** Resolves once an armable daemon has come to a failpoint since `arm`; with `hold` it stays until the next one. */
  async reached(point: string): Promise<void> {
    const { failpointTrace } = this.paths;
    await until(
      `${this.name} to come to ${point}`,
      () =>
        existsSync(failpointTrace) &&
        readFileSync(failpointTrace).subarray(this.#armedAt).toString().split('\n').includes(point),
    );
  }

  /** SIGKILL, as a crash; resolves when the process is gone. */
  async kill9(): Promise<void> {
    if (this.isRunning()) {
      kill(this.pid);
    }
    await this.ended();
  }

  /** SIGTERM; answers the exit code. */
  async stop(): Promise<number | null> {
    if (this.isRunning()) {
      process.kill(this.pid, 'SIGTERM');
    }
    await this.ended();
    return this.#child?.exitCode ?? null;
  }

  /** Ends it by SIGKILL (or SIGTERM when `gracefully`) and starts it again. */
  async restart(options: { gracefully?: boolean; env?: Record<string, string> } = {}): Promise<void> {
    await (options.gracefully === true ? this.stop() : this.kill9());
    await this.up(options.env);
  }

  /** Resolves once the process has ended. */
  async ended(waitMs = WAIT_MS): Promise<void> {
    await until(`${this.name} to end`, () => !this.isRunning(), waitMs);
  }

  /** What it has logged since the first start. */
  log(): string {
    return existsSync(this.paths.log) ? readFileSync(this.paths.log, 'utf8') : '';
  }

  /** Loads a busybox image and answers nothing; the familiar name is `busybox:latest` unless `options` say else. */
  async loadBusybox(options?: ImageTarOptions): Promise<void> {
    await this.http.ok('POST', '/images/load?quiet=1', busyboxImageTar(options));
  }

  /** What a web server says to a client in the daemon's network namespace; empty when none answers. */
  async fetch(url: string): Promise<string> {
    try {
      return await this.netns.run('curl', '--silent', '--fail', '--max-time', '2', '--noproxy', '*', url);
    } catch {
      // No listener, or not yet.
      return '';
    }
  }

  /** A client that puts `/vVERSION` in front of every path. */
  at(version: string): HttpClient {
    return new HttpClient(this.paths.socket, version);
  }

  #commandLine(): string[] {
    const options = ['--config-file', this.paths.config];
    if (this.engine === 'dockerd26') {
      return inTrixie('dockerd', ...options);
    }
    if (this.#program !== undefined) {
      return [process.execPath, this.#program, ...options];
    }
    return [this.engine === 'dockerd' ? 'dockerd' : MAIN, ...options];
  }

  #named(commandLine: string[]): string[] {
    return this.#hostname === undefined
      ? commandLine
      : ['unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', this.#hostname, ...commandLine];
  }

  async #answers(): Promise<boolean> {
    try {
      return (await this.http.request('GET', '/_ping')).status === 200;
    } catch {
      // The socket of an earlier process, or not listening yet.
      return false;
    }
  }

  /** Ends the daemon and removes everything it and its containers left, in any state. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]();
    if (this.isRunning()) {
      kill(this.pid);
      await this.ended();
    }
    killProcessesNaming(`berth-test-${this.name}/`);
    removeCgroup(this.cgroupParent);
    await sleep(20);
    for (const root of [this.paths.execRoot, this.paths.root]) {
      removeTree(root);
      rmSync(root, { recursive: true, force: true });
    }
    this.netns[Symbol.dispose]();
  }
}

/** Scratch roots below /tmp and /dev/shm, and a namespace and a cgroup named like them. */
function scratchPlace(options: TestDaemonOptions): Place {
  counter += 1;
  const name = `bt${process.pid}-${counter}`;
  const root = `/tmp/berth-test-${name}`;
  mkdirSync(root, { recursive: true });
  return {
    name,
    netns: new TestNetns(name, options.uplink === undefined ? {} : { uplink: options.uplink }),
    // A dash in the name of a slice means nesting.
    cgroupParent: cgroupDriver() === 'systemd' ? `/${name.replace('-', '_')}.slice` : `/${name}`,
    paths: {
      root,
      dataRoot: `${root}/data`,
      // A tmpfs, as /run is on real hosts; here /run itself may be on a disk.
      execRoot: `/dev/shm/berth-test-${name}`,
      socket: `${root}/berth.sock`,
      pidFile: `${root}/berthd.pid`,
      config: `${root}/daemon.json`,
      log: `${root}/berthd.log`,
      failpointTrace: `${root}/failpoints`,
      failpoints: `${root}/failpoints.armed`,
      loopDelay: `${root}/loop-delay.json`,
    },
  };
}

/** The driver that daemons choose here (sd_booted(3), cgroups(7)), unless BERTH_TEST_CGROUP_DRIVER names one. */
function cgroupDriver(): 'cgroupfs' | 'systemd' {
  const asked = process.env['BERTH_TEST_CGROUP_DRIVER'] ?? '';
  const systemd = existsSync('/run/systemd/system') && existsSync('/sys/fs/cgroup/cgroup.controllers');
  return asked === 'cgroupfs' || (asked === '' && !systemd) ? 'cgroupfs' : 'systemd';
}

function cgroupSettings(parent: string): Record<string, unknown> {
  const driver = cgroupDriver();
  return {
    'exec-opts': [`native.cgroupdriver=${driver}`],
    'cgroup-parent': driver === 'systemd' ? parent.slice(1) : parent,
  };
}
