import { isDeepStrictEqual } from 'node:util';
import { settingEntries } from './settings.ts';
import type { Config } from './settings.ts';

export interface Reloaded {
  config: Config;
  /** Keys whose new values are in `config`. */
  taken: string[];
  /** Keys that changed too but wait for a restart. */
  needRestart: string[];
}

/** What SIGHUP makes of a configuration read again: the reloadable settings change, the others stay. Pure. */
export function reloadConfig(current: Config, next: Config): Reloaded {
  const changed = settingEntries.filter(([name]) => !isDeepStrictEqual(current[name], next[name]));
  const taken = changed.filter(([, setting]) => setting.isReloadable);
  return {
    config: Object.freeze({ ...current, ...Object.fromEntries(taken.map(([name]) => [name, next[name]])) }),
    taken: taken.map(([, { key }]) => key),
    needRestart: changed.flatMap(([, { key, isReloadable }]) => (isReloadable ? [] : [key])),
  };
}

/** Attributes of the `daemon reload` event, named and written as dockerd does (daemon/reload.go). */
export function reloadAttributes(config: Config, hostname: string): Record<string, string> {
  const runtimes = { runc: { path: 'runc' }, ...config.runtimes };
  return {
    debug: String(config.debug),
    'default-ipc-mode': config.defaultIpcMode,
    'default-runtime': config.defaultRuntime,
    'default-shm-size': String(config.defaultShmSize),
    'insecure-registries': JSON.stringify(config.insecureRegistries),
    labels: JSON.stringify(config.labels),
    'live-restore': String(config.liveRestore),
    'log-level': config.logLevel,
    'max-concurrent-downloads': String(config.maxConcurrentDownloads),
    'max-concurrent-uploads': String(config.maxConcurrentUploads),
    name: hostname,
    'registry-mirrors': JSON.stringify(config.registryMirrors),
    runtimes: Object.entries(runtimes)
      .map(([name, { path }]) => `${name}:${path}`)
      .join(' '),
    'shutdown-timeout': String(config.shutdownTimeout),
  };
}
