import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { hostInterfaces } from '../../swarm/membership/addresses.ts';
import { restoreSwarm } from '../../swarm/membership/backup/restore.ts';
import { saveSwarm } from '../../swarm/membership/backup/save.ts';
import { systemClock } from '../base/clock.ts';
import { conflict, EngineError, errorText, isEngineError } from '../base/errors.ts';
import type { CommandLine } from './config/flags.ts';
import type { Config } from './config/settings.ts';
import { lockDataRoot, type HeldFile } from './host/lock.ts';
import { realPath } from './host/real-path.ts';
import { instanceOf, type InstancePaths } from './instance.ts';
import { ETCD, swarmPaths } from './swarm-paths.ts';
import { ENGINE_VERSION } from './version.ts';

/** Its own files are root's alone. */
const UMASK = 0o077;

type Asked = CommandLine['swarm'];

/** `berthd swarm backup`, beside a daemon. Answers the exit code; throws EngineError where there is no backup. */
export async function backUpSwarm(
  config: Config,
  { directory }: Asked,
  write: (text: string) => void,
): Promise<number> {
  process.umask(UMASK);
  const target = path.resolve(directory);
  const paths = pathsOf(config);
  if (!existsSync(paths.dataRoot)) {
    throw new EngineError('unavailable', `back up the swarm: there is no data root ${paths.dataRoot}`);
  }
  const { manifest, isLocked, hasLeader } = await saveSwarm(
    { clock: systemClock, ...swarmPaths(paths), engine: ENGINE_VERSION, hostname: hostname() },
    target,
  );
  write(`backed up the swarm ${manifest.cluster} to ${target}\n`);
  if (isLocked) {
    write('its keys are sealed: keep the unlock key too (docker swarm unlock-key)\n');
  }
  if (!hasLeader) {
    write('the managers have no majority now: the backup has what this one knows\n');
  }
  return 0;
}

/**
 * `berthd swarm restore`, with a stopped daemon. Answers the exit code; throws EngineError where nothing was put back.
 */
export async function putBackSwarm(
  config: Config,
  { directory, force, advertiseAddr }: Asked,
  write: (text: string) => void,
): Promise<number> {
  // Before the umask: the data root, where it is made, has the modes that the daemon would give it.
  using _root = takeRoot(config.dataRoot);
  using _awake = stayAwake();
  process.umask(UMASK);
  const paths = pathsOf(config);
  const { manifest, isLocked, putAside } = await restoreSwarm(
    {
      clock: systemClock,
      etcd: ETCD,
      interfaces: hostInterfaces,
      ...swarmPaths(paths),
      staging: path.join(paths.temporary, 'swarm-restore'),
    },
    path.resolve(directory),
    { force, advertiseAddr },
  );
  write(`restored the swarm ${manifest.cluster} as of ${manifest.made} to ${paths.dataRoot}\n`);
  if (putAside !== undefined) {
    write(`what was there before is in ${putAside}\n`);
  }
  write(`start berthd${isLocked ? ', then docker swarm unlock' : ''}: this manager goes on alone\n`);
  return 0;
}

/** Until disposed of the process does not end by itself: the clock's timers, by which an end is waited for, let it. */
function stayAwake(): Disposable {
  const timer = setInterval(() => undefined, 60_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function takeRoot(dataRoot: string): HeldFile {
  try {
    return lockDataRoot(dataRoot);
  } catch (error) {
    throw isEngineError(error, 'conflict')
      ? conflict(`restore the swarm: ${errorText(error)}: stop it first`, { cause: error })
      : error;
  }
}

function pathsOf(config: Config): InstancePaths {
  const { dataRoot, execRoot } = config;
  return instanceOf({ ...config, dataRoot: realPath(dataRoot), execRoot: realPath(execRoot) }).paths;
}
