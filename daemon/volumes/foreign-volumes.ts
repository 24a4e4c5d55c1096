import type { PluginVolume } from '../../runtime/volume-plugins/volume-plugins.ts';
import type { VolumeRow } from '../../storage/database/rows.ts';
import { EngineError, errorText, isEngineError } from '../base/errors.ts';
import { LOCAL_DRIVER } from './local-driver.ts';
import type { VolumePluginPort } from './ports.ts';

/** A volume, with what its plugin says of it. */
export interface ForeignVolume {
  /** A generated row for a volume that has none: no labels, no options, created at 0. */
  row: VolumeRow;
  told?: PluginVolume;
  scope?: 'local' | 'global';
}

/** The volumes that plugins have, made by this engine or not. */
export class ForeignVolumes {
  readonly #plugins: VolumePluginPort;

  constructor({ plugins }: { plugins: VolumePluginPort }) {
    this.#plugins = plugins;
  }

  /** Throws what clients are told when they name a driver that is not there. */
  async check(name: string, driver: string): Promise<void> {
    if (driver !== LOCAL_DRIVER) {
      await explained(`create ${name}`, () => this.#plugins.check(driver));
    }
  }

  /** All volumes of all plugins that answer, and a sentence for each that does not. */
  async list(): Promise<{ volumes: ForeignVolume[]; warnings: string[] }> {
    const warnings: string[] = [];
    const lists = await Promise.all(
      (await this.#plugins.names()).map(async (driver) => {
        try {
          const [told, scope] = await Promise.all([this.#plugins.list(driver), this.#plugins.scope(driver)]);
          return told.map((each) => foreign(driver, each, scope));
        } catch (error) {
          warnings.push(`list volumes of ${driver}: ${errorText(error)}`);
          return [];
        }
      }),
    );
    return { volumes: lists.flat(), warnings };
  }

  /** The volume of this name of any plugin. Those that do not answer soon are passed over. */
  async find(name: string): Promise<ForeignVolume | undefined> {
    for (const driver of await this.#plugins.names()) {
      try {
        const told = await this.#plugins.get(driver, name, { brief: true });
        if (told !== undefined) {
          return foreign(driver, told, await this.#plugins.scope(driver));
        }
      } catch (error) {
        if (!isEngineError(error)) {
          throw error;
        }
      }
    }
    return undefined;
  }

  /** The plugin that has such a volume already, so that it is not to be made. */
  async existing(
    name: string,
    { driver, anonymous }: { driver?: string; anonymous: boolean },
  ): Promise<string | undefined> {
    if (anonymous || driver === LOCAL_DRIVER) {
      return undefined;
    }
    if (!driver) {
      return (await this.find(name))?.row.driver;
    }
    await this.check(name, driver);
    const told = await explained(`create ${name}`, () => this.#plugins.get(driver, name, { brief: false }));
    return told === undefined ? undefined : driver;
  }

  /** What the plugin of a volume says of it. Throws when it does not answer, or has no such volume. */
  async describe(row: VolumeRow): Promise<ForeignVolume> {
    const { name, driver } = row;
    const told = await explained(`get ${name}`, () => this.#plugins.get(driver, name, { brief: false }));
    if (told === undefined) {
      throw new EngineError('not_found', `get ${name}: volume plugin ${driver} has no such volume`);
    }
    return { row, told, scope: await this.#plugins.scope(driver) };
  }
}

function foreign(driver: string, told: PluginVolume, scope: 'local' | 'global'): ForeignVolume {
  const { name } = told;
  return { row: { name, driver, options: {}, labels: {}, anonymous: false, createdNano: 0n }, told, scope };
}

/** Adds the operation to an error. */
async function explained<T>(operation: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    const { code, message, details } = error;
    throw new EngineError(code, `${operation}: ${message}`, { cause: error, details });
  }
}
