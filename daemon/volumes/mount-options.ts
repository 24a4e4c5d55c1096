import type { VolumeMountPlan } from '../../storage/volumes/volume-mount.ts';
import { errorText, invalidArgument } from '../base/errors.ts';
import { parseSize } from '../base/go/values.ts';

type Options = Readonly<Record<string, string>>;

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  device: ['type'],
  type: ['device'],
  o: ['device', 'type'],
};

const FLAGS = new Map<string, { clear: boolean; flag: number }>(
  Object.entries({
    ro: 0x1,
    nosuid: 0x2,
    nodev: 0x4,
    noexec: 0x8,
    sync: 0x10,
    mand: 0x40,
    dirsync: 0x80,
    noatime: 0x400,
    nodiratime: 0x800,
    bind: 0x1000,
    rbind: 0x5000,
    relatime: 0x20_0000,
    strictatime: 0x100_0000,
  }).flatMap(([name, flag]) => [
    [name, { clear: false, flag }],
    [oppositeOf(name), { clear: true, flag }],
  ]),
);

const PROPAGATION: Readonly<Record<string, number>> = {
  unbindable: 0x2_0000,
  runbindable: 0x2_4000,
  private: 0x4_0000,
  rprivate: 0x4_4000,
  slave: 0x8_0000,
  rslave: 0x8_4000,
  shared: 0x10_0000,
  rshared: 0x10_4000,
};

/**
 * Driver options of a local volume: `type`, `device` and `o` are what mount(8) has, all or none of them; `size` limits
 * what is kept in the volume's own directory. Throws invalid_argument in dockerd's words. Pure.
 */
export function checkLocalOptions(name: string, options: Options): void {
  for (const key of Object.keys(options)) {
    if (key !== 'size' && !Object.hasOwn(REQUIRED, key)) {
      throw invalidArgument(`create ${name}: invalid option: ${JSON.stringify(key)}`);
    }
  }
  for (const [key, value] of Object.entries(options)) {
    const missing = value === '' ? undefined : REQUIRED[key]?.find((other) => !options[other]);
    if (missing !== undefined) {
      throw invalidArgument(`create ${name}: missing required option: ${JSON.stringify(missing)}`);
    }
  }
}

/** Bytes that the volume may hold; 0 = as many as there is room for. Throws invalid_argument. Pure. */
export function sizeLimit(name: string, options: Options): number {
  const { size } = options;
  if (size === undefined) {
    return 0;
  }
  const bytes = parsedSize(name, size);
  if (bytes > 0 && mountPlan(options) !== undefined) {
    throw invalidArgument(
      `create ${name}: size=${size} limits the volume's own directory, but ${options['device']} is mounted over it: ` +
        `say it to that file system in "o"`,
    );
  }
  return bytes;
}

function parsedSize(name: string, size: string): number {
  try {
    return parseSize(size, 1024);
  } catch (error) {
    throw invalidArgument(`create ${name}: ${errorText(error)}`);
  }
}

/** undefined = nothing is to be mounted. Pure. */
export function mountPlan(options: Options): VolumeMountPlan | undefined {
  const { type = '', device = '', o = '' } = options;
  if (type === '' || device === '') {
    return undefined;
  }
  const plan = { source: device, type, flags: 0, propagation: 0, data: '' };
  const data: string[] = [];
  for (const word of o.split(',').filter((each) => each !== '' && each !== 'defaults')) {
    const known = FLAGS.get(word);
    if (known !== undefined) {
      plan.flags = known.clear ? plan.flags & ~known.flag : plan.flags | known.flag;
    } else if (Object.hasOwn(PROPAGATION, word)) {
      plan.propagation = PROPAGATION[word] ?? 0;
    } else {
      data.push(word);
    }
  }
  return { ...plan, data: data.join(',') };
}

/** The host in `addr=`, which the kernel's network file systems want as an address; undefined = there is none. Pure. */
export function addressOption({ type, data }: VolumeMountPlan): string | undefined {
  return /^(?:nfs4?|cifs)$/.test(type) ? /(?:^|,)addr=([^,]*)/.exec(data)?.[1] : undefined;
}

/** The plan with another host in `addr=`. Pure. */
export function withAddress(plan: VolumeMountPlan, address: string): VolumeMountPlan {
  return { ...plan, data: plan.data.replace(/(^|,)addr=[^,]*/, `$1addr=${address}`) };
}

function oppositeOf(name: string): string {
  if (name === 'ro') {
    return 'rw';
  }
  return name.startsWith('no') ? name.slice(2) : `${name === 'sync' ? 'a' : 'no'}${name}`;
}
