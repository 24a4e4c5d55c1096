import type { VolumeRow } from '../../storage/database/rows.ts';
import { conflict } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { Rollback } from '../base/rollback.ts';
import { driverOf } from './context.ts';
import type { VolumeContext } from './context.ts';
import { LOCAL_DRIVER } from './local-driver.ts';
import { checkVolumeName } from '../../storage/volumes/volume-name.ts';
import { ANONYMOUS_LABEL } from './prune.ts';

export interface VolumeCreateOptions {
  driver?: string;
  driverOpts?: Record<string, string>;
  labels?: Record<string, string>;
  anonymous: boolean;
  /** The name was invented for it. */
  isOurName?: boolean;
}

/** A volume for a container that is being created; see `VolumeBinder.reserveAnonymous`. */
export interface VolumeReservation {
  mountpoint: string;
  store(): void;
  undo(): Promise<void>;
}

/** The volume of this name, made when there is none. Throws conflict when another driver has it. */
export function createUnlessThere(
  context: VolumeContext,
  name: string,
  options: VolumeCreateOptions,
): Promise<{ row: VolumeRow; created: boolean }> {
  const { registry, foreign, locks } = context;
  return locks.run(name, async () => {
    checkVolumeName(name);
    const existing = registry.find(name);
    if (existing !== undefined) {
      await refuseOther(context, existing, options.driver);
      return { row: existing, created: false };
    }
    const found = await foreign.existing(name, options);
    const row = await newRow(context, name, { ...options, ...(found && { driver: found }) });
    const driver = driverOf(context, row);
    await using rollback = new Rollback(context.log, { volume: name });
    if (found === undefined) {
      rollback.defer('remove its directory', () => driver.undoCreate(row));
      await driver.create(row, { isOurName: options.anonymous || options.isOurName === true });
    }
    failpoint('volume.create.row');
    store(context, row, { durable: true });
    rollback.commit();
    return { row, created: found === undefined };
  });
}

/** See `VolumeBinder`. */
export function reserveAnonymous(
  context: VolumeContext,
  name: string,
  options: Omit<VolumeCreateOptions, 'anonymous'>,
): Promise<VolumeReservation> {
  const { registry, locks } = context;
  return locks.run(name, async () => {
    checkVolumeName(name);
    const existing = registry.find(name);
    if (existing !== undefined) {
      const mountpoint = driverOf(context, existing).mountpoint(existing);
      return { mountpoint, store: () => undefined, undo: () => Promise.resolve() };
    }
    const labels = { ...options.labels, [ANONYMOUS_LABEL]: '' };
    const row = await newRow(context, name, { ...options, labels, anonymous: true });
    const driver = driverOf(context, row);
    await using rollback = new Rollback(context.log, { volume: name });
    rollback.defer('remove its directory', () => driver.undoCreate(row));
    await driver.create(row, { isOurName: true });
    failpoint('volume.reserve.directory');
    rollback.commit();
    return {
      mountpoint: driver.mountpoint(row),
      // Becomes durable with the row of its container.
      store: () => store(context, row, { durable: false }),
      undo: () =>
        locks.run(name, () => {
          registry.forget(name);
          return driver.undoCreate(row);
        }),
    };
  });
}

/** Throws unless the driver is there and takes the options. */
async function newRow(
  context: VolumeContext,
  name: string,
  options: VolumeCreateOptions,
): Promise<VolumeRow> {
  const driver = options.driver || LOCAL_DRIVER;
  await context.foreign.check(name, driver);
  driverOf(context, { driver }).check(name, options.driverOpts ?? {});
  return {
    name,
    driver,
    options: options.driverOpts ?? {},
    labels: options.labels ?? {},
    anonymous: options.anonymous,
    createdNano: context.clock.nowNano(),
  };
}

/** A name means one volume over all drivers. */
async function refuseOther(
  { foreign }: VolumeContext,
  { name, driver }: VolumeRow,
  wanted: string | undefined,
): Promise<void> {
  if (wanted && wanted !== driver) {
    await foreign.check(name, wanted);
    throw conflict(
      `create ${name}: driver '${driver}' already has volume '${name}': volume name must be unique`,
    );
  }
}

function store({ registry, plugin }: VolumeContext, row: VolumeRow, options: { durable: boolean }): void {
  registry.add(row, options, () => {
    if (row.driver !== LOCAL_DRIVER) {
      plugin.stored(row);
    }
  });
}
