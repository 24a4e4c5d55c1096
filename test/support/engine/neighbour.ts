import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';
import type { DaemonNetwork } from './netns.ts';

const execFileAsync = promisify(execFile);

/** Answers each connection with the address it comes from, on every address of both families. */
export const ECHO = `import socket, sys
s = socket.create_server(('', int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    c, peer = s.accept()
    c.sendall(peer[0].replace('::ffff:', '').encode())
    c.close()`;

/** The answer at this address and port within these seconds; empty when nothing can be reached. */
export const ASK = `import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))
    print(s.recv(99).decode(), end='')
except OSError:
    print('', end='')`;

/**
 * A host of its own beside the daemon's: a network namespace at the other end of the daemon's `eth0`, the one interface
 * that the oracle looks past.
 */
export class Neighbour implements Disposable {
  readonly #name: string;
  readonly #host: DaemonNetwork;
  readonly #servers: ChildProcess[] = [];

  /** Addresses as `ip addr add` takes them; `ipv4` and `ipv6` of both sides. */
  static async beside(
    host: DaemonNetwork,
    addresses: { host: readonly string[]; neighbour: readonly string[] },
  ): Promise<Neighbour> {
    const neighbour = new Neighbour(host);
    await host.run(
      'ip',
      'link',
      'add',
      'eth0',
      'type',
      'veth',
      'peer',
      'name',
      'lan1',
      'netns',
      neighbour.#name,
    );
    for (const address of addresses.host) {
      await host.run('ip', 'addr', 'add', address, 'dev', 'eth0', ...noDad(address));
    }
    await host.run('ip', 'link', 'set', 'eth0', 'up');
    for (const address of addresses.neighbour) {
      neighbour.ip('addr', 'add', address, 'dev', 'lan1', ...noDad(address));
    }
    neighbour.ip('link', 'set', 'lan1', 'up');
    neighbour.ip('link', 'set', 'lo', 'up');
    return neighbour;
  }

  private constructor(host: DaemonNetwork) {
    this.#host = host;
    this.#name = `${host.name}n`;
    execFileSync('ip', ['netns', 'add', this.#name]);
  }

  /** ip(8) over there. */
  ip(...args: string[]): string {
    return execFileSync('ip', ['-n', this.#name, ...args], { encoding: 'utf8' });
  }

  /** What the neighbour is told there; empty = out of its reach, for as long as it waits. */
  async ask(to: string, port: number, seconds: number): Promise<string> {
    const argv = [`--net=/run/netns/${this.#name}`, 'python3', '-c', ASK, to, String(port), String(seconds)];
    return (await execFileAsync('nsenter', argv)).stdout;
  }

  /** From here on the neighbour tells each caller at this port the caller's address. */
  echo(port: number): void {
    const argv = [`--net=/run/netns/${this.#name}`, 'python3', '-c', ECHO, String(port)];
    this.#servers.push(spawn('nsenter', argv, { stdio: 'ignore' }));
  }

  [Symbol.dispose](): void {
    this.#servers.forEach((server) => server.kill('SIGKILL'));
    execFileSync('nsenter', [`--net=${this.#host.path}`, 'ip', 'link', 'del', 'eth0']);
    execFileSync('ip', ['netns', 'del', this.#name]);
  }
}

/** An address is used at once, not after a second of duplicate address detection. */
function noDad(address: string): string[] {
  return address.includes(':') ? ['nodad'] : [];
}
