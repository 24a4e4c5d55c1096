import type { Address } from '../../api/listen.ts';
import { notImplemented } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from './config/settings.ts';
import type { Instance } from './instance.ts';

/** What `run` hands over once this process has the data root for itself. */
export interface ComposeDeps {
  config: Config;
  instance: Instance;
  addresses: readonly Address[];
  log: Logger;
}

/** A daemon that answers. */
export interface Engine {
  /** Takes over reloadable settings and emits `daemon reload` (attributes: `config/reload.ts`). */
  reload(config: Config): Promise<void>;
  /**
   * Says good-bye to clients and closes the database. Touches no container: they belong to their monitors. The caller
   * ends the process when it takes longer than `shutdown-timeout`.
   */
  stop(): Promise<void>;
}

/**
 * The composition root: the only place where all parts meet, and where the compiler checks that they fit the ports
 * (`satisfies EnginePorts`). Start order, each step needing those before it:
 *
 *   1. umask 022; directories of `instance.paths`; the temporary one is emptied
 *   2. readHostFacts: programs, kernel, cgroups; its warnings go to the log, and SQLite's floor (3.51.3) is checked
 *   3. openDatabase -> engineId(database.meta) -> EventLog (the journal of everything below)
 *   4. storage: layers, root file systems, LocalVolumes; images: index from rows
 *   5. Volumes({ users }) .restore(): `users` asks the container registry, which is filled in step 7 (a closure)
 *   6. networks: the bridge and the firewall table of this instance
 *   7. runtime, then containers: rows -> registry, restore: take over what runs, settle what ended meanwhile (one `die`
 *      each), close what has no owner, arm restart policies
 *   8. System({ counts }) with callbacks into images, containers, events
 *   9. createApi(ports), listen on `addresses` - last, so that no client sees half an engine
 *
 * Stopping goes backwards: listeners (`close` ends streams), EventLog, restart timers, runtime listeners, database.
 */
export function compose(deps: ComposeDeps): Promise<Engine> {
  deps.log.debug({ data: deps.instance.paths.dataRoot }, 'composing the engine');
  return Promise.reject(notImplemented('compose: the parts are not wired yet'));
}
