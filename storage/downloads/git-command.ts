import { mkdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRunCommand, CommandError } from '../../daemon/base/command.ts';
import { nameOf, proxiesOf, proxyFor, proxyVariables } from '../../daemon/base/http/proxies.ts';
import { EngineError, notImplemented } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

/** What opens repositories, and is not this host's. */
export interface GitKeys {
  /** Socket of a key agent for ssh. */
  agent: string | undefined;
  /** Of requests by HTTP to the repository's own host. */
  authorization: string | undefined;
  /** Lines of a known_hosts file: hosts must be those; undefined = they are taken as they come. */
  knownHosts?: string | undefined;
}

export interface GitOptions {
  signal: AbortSignal;
  /** Where programs are; undefined = where distributions have them. */
  path?: string;
  keys?: GitKeys;
}

/** Runs git with arguments; answers what it prints. `what` begins the message where it fails. */
export type RunGit = (what: string, ...args: string[]) => Promise<string>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Neither local files nor programs as transports, whatever a repository's submodules say. */
const PROTOCOLS = 'http:https:git:ssh';
/** Nothing of the host's and nothing of the repository's is executed or asked. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=60',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting]);
/**
 * git and all that it starts end with this daemon, and with the signal: they are a PID namespace of their own, whose
 * first process is killed when its parent dies.
 */
const CONFINED = ['--pdeathsig', 'KILL', '--', 'unshare', '--pid', '--fork', '--kill-child=KILL', '--'];

/** Exit codes of setpriv and unshare for a program that is not there. */
const NO_PROGRAM = 127;

/**
 * Runs git for one remote as often as `work` says, in `cwd`, confined, with files of its own in `directory`. Throws
 * remote with what git says, not_implemented without git, resource_exhausted before the disk is full, canceled,
 * deadline_exceeded; what was written so far stays.
 */
export async function withGit<T>(
  remote: string,
  { directory, cwd, ...options }: GitOptions & { directory: string; cwd: string },
  work: (run: RunGit) => Promise<T>,
): Promise<T> {
  const home = join(directory, 'home');
  await mkdir(home, { mode: 0o700 });
  const knownHosts = join(directory, 'known_hosts');
  if (options.keys?.knownHosts !== undefined) {
    await writeFile(knownHosts, options.keys.knownHosts, { mode: 0o600 });
  }
  using disk = new DiskWatch(directory);
  const deadline = AbortSignal.timeout(limits.downloadTimeoutMs);
  const signal = AbortSignal.any([options.signal, disk.signal, deadline]);
  const env = { ...environment(options.path ?? PATH, home), ...keysOf(remote, options.keys, knownHosts) };
  const through = throughProxy(remote);
  const run: RunGit = async (what, ...args) => {
    const argv = ['setpriv', ...CONFINED, 'git', ...SETTINGS, ...args] as const;
    try {
      const { stdout } = await mustRunCommand([...argv], {
        cwd,
        env,
        timeoutMs: limits.downloadTimeoutMs,
        signal,
      });
      return stdout;
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(what, error, through);
    }
  };
  try {
    return await work(run);
  } catch (error) {
    if (options.signal.aborted) {
      throw new EngineError('canceled', 'git: canceled', { cause: error });
    }
    throw deadline.aborted ? new EngineError('deadline_exceeded', 'git: took too long') : error;
  }
}

/** The whole of it: of the daemon's own only its proxies, no settings or credentials of a user's. */
function environment(path: string, home: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: PROTOCOLS,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    ...proxyVariables(proxiesOf(process.env)),
  };
}

/** Neither keys nor settings of the host's user; a host that the engine's host knows must be the one it knows. */
function keysOf(remote: string, keys: GitKeys | undefined, knownHosts: string): Record<string, string> {
  if (keys === undefined) {
    return {};
  }
  const options = [
    'BatchMode=yes',
    'IdentityFile=none',
    ...(keys.knownHosts === undefined
      ? ['StrictHostKeyChecking=accept-new', 'UserKnownHostsFile=/dev/null']
      : [
          'StrictHostKeyChecking=yes',
          'GlobalKnownHostsFile=/dev/null',
          `UserKnownHostsFile="${knownHosts}"`,
        ]),
    'LogLevel=ERROR',
  ];
  const GIT_SSH_COMMAND = [
    'ssh',
    '-F',
    '/dev/null',
    ...options.map((option) => `-o ${shellQuoted(option)}`),
  ].join(' ');
  return {
    GIT_SSH_COMMAND,
    ...(keys.agent !== undefined && { SSH_AUTH_SOCK: keys.agent }),
    // Not as an argument, which everybody on the host can read.
    ...(keys.authorization !== undefined && {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `http.${new URL(remote).origin}/.extraheader`,
      GIT_CONFIG_VALUE_0: `Authorization: ${keys.authorization.replaceAll(/[\r\n]/g, '')}`,
    }),
  };
}

/** git hands the whole to a shell. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\\''`)}'`;
}

/** An address without a user and a password. Pure. */
export function withoutUser(remote: string): string {
  if (!URL.canParse(remote)) {
    return remote;
  }
  const url = new URL(remote);
  url.username = '';
  url.password = '';
  return url.href;
}

/** For messages: whether git goes through a proxy, which may be what refused. */
function throughProxy(remote: string): string {
  const proxy = URL.canParse(remote) ? proxyFor(new URL(remote), proxiesOf(process.env)) : undefined;
  return proxy === undefined ? '' : ` (through the proxy ${nameOf(proxy)})`;
}

function failureOf(what: string, error: unknown, through: string): Error {
  if (!(error instanceof CommandError)) {
    return new EngineError('internal', `git: ${what}`, { cause: error });
  }
  const { stderr, exitCode } = error.result;
  if (exitCode === NO_PROGRAM || exitCode === null) {
    return notImplemented(
      `building from a repository needs the programs git, setpriv and unshare on this host`,
      {
        cause: error,
      },
    );
  }
  const said = stderr.trim().replaceAll(/\/\/[^/@\s]*@/g, '//');
  return new EngineError('remote', `${what}: ${said || `git exited with ${exitCode}`}${through}`);
}

/** Fires its signal when the disk is nearly full. */
class DiskWatch implements Disposable {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(directory: string) {
    const look = (): void => {
      // Its owner removed it: git has ended.
      void this.#look(directory).catch(() => undefined);
    };
    this.#timer = setInterval(look, limits.gitSpaceCheckMs);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(directory: string): Promise<void> {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize < limits.diskReserveBytes) {
      this.#abort.abort(new EngineError('resource_exhausted', 'git: no space left on device'));
    }
  }
}
