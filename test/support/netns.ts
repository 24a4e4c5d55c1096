import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/**
 * A network namespace of a test's own: bridges, firewall tables and ports in it meet nobody else's. Entered with
 * `nsenter --net`, not `ip netns exec`: that one mounts a fresh /sys, which hides the cgroups.
 */
export class TestNetns implements Disposable {
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

  /** `argv` as a command line that runs inside. */
  enter(...argv: string[]): [string, ...string[]] {
    return ['nsenter', `--net=${this.path}`, '--', ...argv];
  }

  /** Runs a program inside; answers its standard output, throws when it fails. */
  async run(...argv: string[]): Promise<string> {
    const [file, ...args] = this.enter(...argv);
    const { stdout } = await execFileAsync(file, args, { timeout: 20_000, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
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

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
