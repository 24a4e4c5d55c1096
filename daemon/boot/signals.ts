import type { Logger } from '../base/logger.ts';

/** What the daemon does on signals. */
export interface SignalActions {
  /** SIGTERM, SIGINT; called once. */
  stop: (signal: NodeJS.Signals) => void;
  /** SIGHUP; the next one waits until it resolves. */
  reload: () => Promise<void>;
}

/**
 * Binds the process's signals. A second SIGTERM or SIGINT ends it at once: containers do not need a clean end of the
 * daemon. SIGUSR1 is taken too, because Node.js would open its debugger on it, and a client of the debugger is root.
 */
export function handleSignals(actions: SignalActions, log: Logger): void {
  let isStopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) {
      log.warn({ signal }, 'asked again to stop, ending at once');
      process.exit(1);
    }
    isStopping = true;
    actions.stop(signal);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  let reloading = Promise.resolve();
  process.on('SIGHUP', () => {
    reloading = reloading.then(actions.reload).catch((error: unknown) => {
      log.error({ err: error }, 'the configuration was not read again');
    });
  });
  process.on('SIGUSR1', () => {
    const { rss, heapUsed, external } = process.memoryUsage();
    const resources = process.getActiveResourcesInfo();
    log.info({ rss, heapUsed, external, resources: countEach(resources) }, 'state of the daemon');
  });
}

function countEach(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
