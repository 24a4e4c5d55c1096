import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** Where a daemon under test has its network. */
export interface DaemonNetwork extends Disposable {
  readonly name: string;
  /** A file that nsenter(1) takes. */
  readonly path: string;
  /** `argv` as a command line that runs inside. */
  enter(...argv: string[]): [string, ...string[]];
  /** Runs a program inside; answers its standard output, throws when it fails. */
  run(...argv: string[]): Promise<string>;
}

/**
 * A network namespace of a test's own: bridges, firewall tables and ports in it meet no others. Entered with `nsenter
 * --net`, not `ip netns exec`: that one mounts a fresh /sys, which hides the cgroups.
 */
export class TestNetns implements DaemonNetwork {
  readonly name: string;
  readonly #uplink: string | undefined;

  /** `uplink` N also gives it a veth pair to the host, addresses 10.N.0.1 (host) and 10.N.0.2, and a default route. */
  constructor(name: string, options: { uplink?: number } = {}) {
    this.name = name;
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
    if (options.uplink !== undefined) {
      // Interface names hold 15 characters.
      this.#uplink = `btu${options.uplink}-${process.pid % 100_000}`;
      const network = `10.${options.uplink}.0`;
      ip('link', 'add', this.#uplink, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('addr', 'add', `${network}.1/24`, 'dev', this.#uplink);
      ip('link', 'set', this.#uplink, 'up');
      ip('-n', name, 'addr', 'add', `${network}.2/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'route', 'add', 'default', 'via', `${network}.1`);
    }
  }

  get path(): string {
    return `/run/netns/${this.name}`;
  }

  enter(...argv: string[]): [string, ...string[]] {
    return ['nsenter', `--net=${this.path}`, '--', ...argv];
  }

  run(...argv: string[]): Promise<string> {
    return output(this.enter(...argv));
  }

  [Symbol.dispose](): void {
    if (this.#uplink !== undefined) {
      execFileSync('ip', ['link', 'del', this.#uplink], { stdio: 'ignore' });
    }
    if (existsSync(this.path)) {
      ip('netns', 'del', this.name);
    }
  }
}

/** The network of this machine itself: for a daemon that is its system service. */
export class HostNetwork implements DaemonNetwork {
  readonly name = 'host';
  readonly path = '/proc/1/ns/net';

  enter(...argv: string[]): [string, ...string[]] {
    const [file = '', ...args] = argv;
    return [file, ...args];
  }

  run(...argv: string[]): Promise<string> {
    return output(this.enter(...argv));
  }

  [Symbol.dispose](): void {
    // Nothing was made.
  }
}

async function output([file, ...args]: [string, ...string[]]): Promise<string> {
  const { stdout } = await execFileAsync(file, args, { timeout: 20_000, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
