import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { boundFreeMemory } from '../base/kernel/processes/malloc.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { addresses, prepareDirectories } from './host/addresses.ts';
import type { ComposeDeps, Engine } from './compose.ts';
import { reloadConfig } from './config/reload.ts';
import type { Config } from './config/settings.ts';
import { endOnCrash } from './crash.ts';
import { instanceOf } from './instance.ts';
import { loopDelayWatch } from './loop-delay.ts';
import { forgetPassedSockets, readPassedSockets } from './listen-fds.ts';
import { holdPidfile, lockDataRoot } from './host/lock.ts';
import { forgetNotifySettings, Notifier, readNotifySettings } from './notify.ts';
import { preflight, realHost } from './host/preflight.ts';
import { exportProxies } from './host/proxies.ts';
import { realPath } from './host/real-path.ts';
import { handleSignals } from './signals.ts';

export interface RunDeps {
  config: Config;
  log: Logger;
  /** Reads the configuration again, from the same sources. */
  loadConfig(): Config;
  compose(deps: ComposeDeps): Promise<Engine>;
}

/**
 * One life of the daemon: checks, takes the data root, starts the engine, reports READY, and serves until a signal
 * stops it. Throws EngineError with one line when it cannot start; after that it only ends by itself.
 */
export async function run(deps: RunDeps): Promise<void> {
  const { log } = deps;
  const notifier = new Notifier({ settings: readNotifySettings(process.env, process.pid), log });
  const passed = readPassedSockets(process.env, process.pid);
  forgetNotifySettings(process.env);
  forgetPassedSockets(process.env);

  boundFreeMemory();
  let { config } = deps;
  exportProxies(config, process.env, log);
  await preflight(config, realHost);
  // Held until the process ends, however it ends.
  const root = lockDataRoot(config.dataRoot);
  const pidfile = config.pidfile === '' ? undefined : holdPidfile(config.pidfile);
  const { addresses: list, warnings } = addresses(config, {
    passed,
    groups: readFileSync('/etc/group', 'utf8'),
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  warnings.forEach((warning) => log.warn(warning));
  prepareDirectories(list);
  endOnCrash(log);
  const watchLoopDelay = loopDelayWatch(process.env['BERTH_LOOP_DELAY_FILE']);

  const instance = instanceOf({
    ...config,
    dataRoot: realPath(config.dataRoot),
    execRoot: realPath(config.execRoot),
  });
  const starting = deps.compose({ config, instance, addresses: list, log });
  let isAskedToStop = false;
  handleSignals(
    {
      stop: (signal) => {
        isAskedToStop = true;
        notifier.stopping();
        log.info({ signal }, 'stopping; containers keep running');
        void stop(starting, config.shutdownTimeout, log)
          .finally(() => {
            pidfile?.[Symbol.dispose]();
            root[Symbol.dispose]();
          })
          .finally(() => process.exit(0))
          .catch((error: unknown) => log.error({ err: error }, 'the data root was not given back'));
      },
      reload: async () => {
        const engine = await starting;
        notifier.reloading();
        try {
          config = await reload(engine, config, deps);
        } finally {
          notifier.ready();
        }
      },
    },
    log,
  );
  try {
    await starting;
  } catch (error) {
    pidfile?.[Symbol.dispose]();
    throw error;
  }
  watchLoopDelay();
  if (!isAskedToStop) {
    notifier.ready();
    log.info({ pid: process.pid, dataRoot: config.dataRoot }, 'berthd is ready');
  }
}

async function reload(engine: Engine, current: Config, deps: RunDeps): Promise<Config> {
  const { config, taken, needRestart } = reloadConfig(current, deps.loadConfig());
  deps.log.level = config.debug ? 'debug' : config.logLevel;
  await engine.reload(config);
  deps.log.info({ taken, needRestart }, 'configuration read again');
  return config;
}

/** Resolves when the engine has stopped or the time is over; never rejects. */
async function stop(starting: Promise<Engine>, timeoutS: number, log: Logger): Promise<void> {
  const stopped = starting
    .then((engine) => engine.stop())
    .catch((error: unknown) => {
      log.error({ reason: errorText(error) }, 'the engine did not stop cleanly');
    });
  const inTime = await Promise.race([stopped.then(() => true), sleep(timeoutS * 1000, false)]);
  if (!inTime) {
    log.warn({ timeoutS }, 'stopping took too long, ending anyway');
  }
}
