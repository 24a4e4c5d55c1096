import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { killProcessesNaming, removeCgroup, removeTree } from './cleanup.ts';
import { TestDaemon, type TestDaemonOptions } from './daemon.ts';
import { until } from './http.ts';
import { HostNetwork } from './netns.ts';
import { PATIENCE } from '../patience.ts';

const execFileAsync = promisify(execFile);

export const SERVICE = 'berth.service';
export const SOCKET = 'berth.socket';
/** Written into the image by scripts/vm: everything on this machine belongs to the tests. */
export const GUEST_MARK = '/etc/berth-vm';

const DROP_IN = `/run/systemd/system/${SERVICE}.d`;
/** The guest may be emulated: twenty times slower than iron. */
const START_MS = 60_000 * PATIENCE;

/**
 * The berthd that scripts/install put on this machine, run by systemd with its own unit, socket and roots. Only for the
 * guest of scripts/vm: starting removes all containers and images, and its network is the machine's.
 */
export class ServiceDaemon extends TestDaemon {
  #env = '';

  /** Removes what earlier tests left and starts the service. */
  static override async start(options: TestDaemonOptions = {}): Promise<ServiceDaemon> {
    if (!existsSync(GUEST_MARK)) {
      throw new Error(`${GUEST_MARK} is missing: this machine's containers are not the tests'`);
    }
    await systemctl('stop', SOCKET, SERVICE);
    const daemon = new ServiceDaemon(options);
    daemon.#wipe();
    await daemon.up(options.env);
    return daemon;
  }

  /** The service as it is: after a boot, say. Starts nothing and takes nothing away. */
  static found(): ServiceDaemon {
    return new ServiceDaemon({});
  }

  private constructor(options: TestDaemonOptions) {
    const root = '/var/tmp/berth-service';
    mkdirSync(root, { recursive: true });
    super(options, {
      name: 'berth',
      netns: new HostNetwork(),
      cgroupParent: '/berth.slice',
      paths: {
        root,
        dataRoot: '/var/lib/berth',
        execRoot: '/run/berth',
        socket: '/run/berth.sock',
        pidFile: '/run/berth.pid',
        config: '/etc/berth/daemon.json',
        log: 'the journal',
        failpointTrace: `${root}/failpoints`,
        failpoints: `${root}/failpoints.armed`,
        loopDelay: `${root}/loop-delay.json`,
      },
    });
  }

  override get pid(): number {
    return Number(property('MainPID'));
  }

  override isRunning(): boolean {
    return this.pid !== 0;
  }

  override configure(config: Record<string, unknown>): void {
    mkdirSync('/etc/berth', { recursive: true });
    writeFileSync(this.paths.config, JSON.stringify({ 'log-level': 'debug', ...config }));
  }

  override async up(env: Record<string, string> = {}): Promise<void> {
    await this.#setEnvironment(env);
    // Three starts in a minute are a broken service to systemd, and a test to us.
    await systemctl('reset-failed', SERVICE);
    await systemctl('start', SOCKET, SERVICE);
    await until('the service to answer', () => this.#answers(), START_MS);
  }

  override async kill9(): Promise<void> {
    const { pid } = this;
    if (pid !== 0) {
      await systemctl('kill', '--kill-whom=main', '--signal=KILL', SERVICE);
      await until('the main process to end', () => !existsSync(`/proc/${pid}`), START_MS);
    }
  }

  override async stop(): Promise<number> {
    await systemctl('stop', SERVICE);
    return Number(property('ExecMainStatus'));
  }

  override async ended(): Promise<void> {
    await until('the service to end', () => !this.isRunning(), START_MS);
  }

  override launch(): never {
    throw new Error('systemd starts the service: there is no child process to hand out');
  }

  /** The journal of this boot. */
  override log(): string {
    return execFileSync('journalctl', ['--boot', '--unit', SERVICE, '--output=cat', '--no-pager'], {
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]();
    await systemctl('stop', SOCKET, SERVICE);
    this.#wipe();
  }

  #wipe(): void {
    killProcessesNaming(`${this.paths.execRoot}/`);
    removeCgroup(this.cgroupParent);
    for (const root of [this.paths.execRoot, this.paths.dataRoot]) {
      removeTree(root);
    }
  }

  async #setEnvironment(env: Record<string, string>): Promise<void> {
    const lines = Object.entries(env).map(([name, value]) => `Environment="${name}=${value}"\n`);
    const text = lines.length === 0 ? '' : `[Service]\n${lines.join('')}`;
    if (text !== this.#env) {
      rmSync(DROP_IN, { recursive: true, force: true });
      if (text !== '') {
        mkdirSync(DROP_IN, { recursive: true });
        writeFileSync(`${DROP_IN}/test.conf`, text);
      }
      await systemctl('daemon-reload');
      this.#env = text;
    }
  }

  async #answers(): Promise<boolean> {
    try {
      return (await this.http.request('GET', '/_ping')).status === 200;
    } catch {
      // The connection was made to the daemon before.
      return false;
    }
  }
}

/** Runs systemctl(1); throws what it printed when it fails. */
export async function systemctl(...args: string[]): Promise<string> {
  const { stdout } = await execFileAsync('systemctl', args, { timeout: START_MS });
  return stdout.trim();
}

/** A property of a unit, as text (`systemctl show`). */
export function property(name: string, unit = SERVICE): string {
  return execFileSync('systemctl', ['show', '--value', `--property=${name}`, unit], {
    encoding: 'utf8',
  }).trim();
}
