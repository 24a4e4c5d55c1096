import { stat } from 'node:fs/promises';
import { errorText, internal, isEngineError, notFound } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { callPlugin } from './call.ts';
import { findPlugin, pluginNames } from './discovery.ts';
import type { PluginAddress } from './discovery.ts';

export interface VolumePluginsOptions {
  /** Where plugins are looked for. */
  folders: readonly string[];
  /** Time for one answer; Create and Mount, which may format disks, get twice as long. */
  timeoutMs: number;
}

/** A volume as its plugin tells of it. */
export interface PluginVolume {
  name: string;
  /** '' = not mounted, or not told. */
  mountpoint: string;
  status?: Record<string, unknown>;
  /** RFC 3339, as it came. */
  createdAt?: string;
}

type Answer = Record<string, unknown>;

/**
 * Volume plugins of other vendors: servers on sockets of this host that speak the volume plugin protocol, version 1
 * (docs: docker engine, extend, plugins_volume). What they answer is checked here. Every method throws not_found in
 * dockerd's words for a plugin that is not there, unavailable for one that does not answer, and otherwise what the
 * plugin said.
 */
export class VolumePlugins {
  readonly #options: VolumePluginsOptions;
  /** Addresses of those that said that they are volume drivers. */
  readonly #active = new Map<string, PluginAddress>();

  constructor(options: VolumePluginsOptions) {
    this.#options = options;
  }

  /** Names of the volume drivers that answer. Waits only briefly for the others. */
  async names(): Promise<string[]> {
    const found = pluginNames(this.#options.folders);
    const answering = await Promise.all(
      found.map(async (plugin) => {
        try {
          await this.#activate(plugin, { timeoutMs: limits.pluginLookUpMs, patient: false });
          return [plugin];
        } catch {
          // A plugin of another kind, or one that is down: it is asked again when a request names it.
          return [];
        }
      }),
    );
    return answering.flat();
  }

  /** Throws unless the plugin is there and is a volume driver. */
  async check(plugin: string): Promise<void> {
    await this.#activate(plugin, { timeoutMs: this.#options.timeoutMs, patient: true });
  }

  async create(plugin: string, name: string, options: Readonly<Record<string, string>>): Promise<void> {
    await this.#ask(plugin, 'Create', { Name: name, Opts: options }, 2 * this.#options.timeoutMs);
  }

  async remove(plugin: string, name: string): Promise<void> {
    await this.#ask(plugin, 'Remove', { Name: name });
  }

  /** Where the volume is, mounted or to be mounted; '' = it does not say. */
  async path(plugin: string, name: string): Promise<string> {
    try {
      return textOf(await this.#ask(plugin, 'Path', { Name: name }), 'Mountpoint');
    } catch (error) {
      if (isRefusal(error)) {
        return '';
      }
      throw error;
    }
  }

  /**
   * Mounts the volume for `id`; answers where. Throws internal when that is no directory that is there, by an absolute
   * path without `.` and `..`: the mount may exist all the same.
   */
  async mount(plugin: string, name: string, id: string): Promise<string> {
    const body = { Name: name, ID: id };
    const answer = await this.#ask(plugin, 'Mount', body, 2 * this.#options.timeoutMs);
    const path = textOf(answer, 'Mountpoint');
    const problem = await problemOf(path);
    if (problem !== undefined) {
      throw internal(
        `VolumeDriver.Mount: volume plugin ${plugin} answered the mount point ${JSON.stringify(path)} for ` +
          `volume ${name}: ${problem}`,
      );
    }
    return path;
  }

  async unmount(plugin: string, name: string, id: string): Promise<void> {
    await this.#ask(plugin, 'Unmount', { Name: name, ID: id });
  }

  /** undefined = the plugin says that it has no such volume, or says nothing. `brief`: waits only briefly. */
  async get(plugin: string, name: string, options: { brief: boolean }): Promise<PluginVolume | undefined> {
    try {
      const timeoutMs = options.brief ? limits.pluginLookUpMs : this.#options.timeoutMs;
      const { Volume } = await this.#ask(plugin, 'Get', { Name: name }, timeoutMs, !options.brief);
      const volume = volumeOf(Volume);
      return volume?.name === name ? volume : undefined;
    } catch (error) {
      if (isRefusal(error)) {
        return undefined;
      }
      throw error;
    }
  }

  async list(plugin: string): Promise<PluginVolume[]> {
    const { Volumes } = await this.#ask(plugin, 'List', {}, this.#options.timeoutMs, false);
    if (Volumes !== undefined && Volumes !== null && !Array.isArray(Volumes)) {
      throw internal(`VolumeDriver.List: volume plugin ${plugin} answered no list of volumes`);
    }
    return (Array.isArray(Volumes) ? Volumes : []).flatMap((each: unknown) => volumeOf(each) ?? []);
  }

  /** `global`: every host sees the same volumes. `local` also for a plugin that does not say. */
  async scope(plugin: string): Promise<'local' | 'global'> {
    try {
      const { Capabilities } = await this.#ask(plugin, 'Capabilities', {}, limits.pluginLookUpMs, false);
      return isRecord(Capabilities) && Capabilities['Scope'] === 'global' ? 'global' : 'local';
    } catch (error) {
      if (isEngineError(error)) {
        return 'local';
      }
      throw error;
    }
  }

  async #ask(
    plugin: string,
    method: string,
    body: Answer,
    timeoutMs = this.#options.timeoutMs,
    patient = true,
  ): Promise<Answer> {
    const address = await this.#activate(plugin, { timeoutMs, patient });
    try {
      return await callPlugin(address, {
        plugin,
        method: `VolumeDriver.${method}`,
        body,
        timeoutMs,
        patient,
      });
    } catch (error) {
      if (isEngineError(error) && error.details['isDown'] === true) {
        // Whatever answers there next introduces itself first.
        this.#active.delete(plugin);
      }
      throw error;
    }
  }

  async #activate(
    plugin: string,
    { timeoutMs, patient }: { timeoutMs: number; patient: boolean },
  ): Promise<PluginAddress> {
    const known = this.#active.get(plugin);
    if (known !== undefined) {
      return known;
    }
    const lookUp = `error looking up volume plugin ${plugin}`;
    const address = findPlugin(this.#options.folders, plugin);
    if (address === undefined) {
      throw notFound(`${lookUp}: plugin ${JSON.stringify(plugin)} not found`);
    }
    const { Implements } = await callPlugin(address, {
      plugin,
      method: 'Plugin.Activate',
      timeoutMs,
      patient,
    });
    if (!Array.isArray(Implements) || !Implements.includes('VolumeDriver')) {
      throw notFound(`${lookUp}: Plugin does not implement the requested driver`);
    }
    this.#active.set(plugin, address);
    return address;
  }
}

function isRefusal(error: unknown): boolean {
  return isEngineError(error) && error.details['isRefusal'] === true;
}

async function problemOf(path: string): Promise<string | undefined> {
  if (!path.startsWith('/') || path.includes('\0')) {
    return 'not an absolute path';
  }
  if (path.split('/').some((name) => name === '..' || name === '.')) {
    return 'not a path without . and ..';
  }
  try {
    return (await stat(path)).isDirectory() ? undefined : 'not a directory';
  } catch (error) {
    return errorText(error);
  }
}

function volumeOf(value: unknown): PluginVolume | undefined {
  if (!isRecord(value) || typeof value['Name'] !== 'string' || value['Name'] === '') {
    return undefined;
  }
  const { Name, Status, CreatedAt } = value;
  return {
    name: Name,
    mountpoint: textOf(value, 'Mountpoint'),
    ...(isRecord(Status) && Object.keys(Status).length > 0 && { status: Status }),
    ...(typeof CreatedAt === 'string' && CreatedAt !== '' && { createdAt: CreatedAt }),
  };
}

function textOf(value: Answer, key: string): string {
  const text = value[key];
  return typeof text === 'string' ? text : '';
}

function isRecord(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
