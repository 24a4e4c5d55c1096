import { invalidArgument } from '../../base/errors.ts';
import { parseDuration } from '../../base/go/duration.ts';
import { parseSize, SIZE } from '../../base/go/values.ts';
import { limits } from '../../base/limits.ts';
import type { CollectPolicy, PolicyBounds, PolicyRule } from '../../build/cache/policy.ts';
import type { Setting } from './kinds.ts';

/** How images are built. */
export interface BuilderSettings {
  gc: CollectPolicy;
  /** Which builds are remembered: so many of the newest, and others until this age. */
  history: { entriesMin: number; ageMs: number };
  /** What builds may ask for: `network.host`, `device` unless forbidden, `security.insecure` where it is allowed. */
  entitlements: ReadonlySet<string>;
}

type Given = Readonly<Record<string, unknown>>;

const NO_BOUNDS: PolicyBounds = { reservedBytes: 0, usedBytesMax: 0, freeBytesMin: 0 };
const HISTORY = { entriesMin: limits.buildHistoryEntriesMin, ageMs: limits.buildHistoryAgeMs };
const DEFAULT: BuilderSettings = Object.freeze({
  gc: { isEnabled: true, defaults: NO_BOUNDS, rules: undefined },
  history: HISTORY,
  entitlements: new Set(['network.host', 'device']),
});

const size = { type: 'string', pattern: SIZE.source };
const flag = { type: 'boolean' };
const rule = object({
  all: flag,
  filter: { type: 'array', items: { type: 'string' } },
  keepStorage: size,
  reservedSpace: size,
  maxUsedSpace: size,
  minFreeSpace: size,
});

/** `{"gc": {"enabled": true, "policy": [..]}, "entitlements": {"security-insecure": true}}`, as dockerd reads it. */
const builder: Setting<BuilderSettings> = {
  key: 'builder',
  flag: 'builder',
  default: DEFAULT,
  help: 'how images are built: gc of what builds keep, history of builds, entitlements they may have, as JSON',
  placeholder: 'json',
  isRepeatable: false,
  isReloadable: false,
  schema: object({
    gc: object({
      enabled: flag,
      defaultKeepStorage: size,
      defaultReservedSpace: size,
      defaultMaxUsedSpace: size,
      defaultMinFreeSpace: size,
      policy: { type: 'array', items: rule },
    }),
    history: object({
      maxAge: { anyOf: [{ type: 'string' }, { type: 'integer', minimum: 0 }] },
      maxEntries: { type: 'integer', minimum: 0 },
    }),
    entitlements: object({ 'network-host': flag, 'security-insecure': flag, device: flag }),
  }),
  parse: (words) => {
    try {
      return JSON.parse(words.at(-1) ?? '');
    } catch (error) {
      throw invalidArgument(`must be JSON, not ${JSON.stringify(words.at(-1))}`, { cause: error });
    }
  },
  normalize: (value) => Object.freeze(builderOf(given(value))),
};

/** Part of the one table in `settings.ts`. */
export const builderSettings = { builder };

/** Go's programs take names of fields with a capital letter, too. */
function object(properties: Readonly<Record<string, object>>): Record<string, unknown> {
  return {
    type: 'object',
    patternProperties: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name === 'gc' ? '^(?:gc|GC)$' : `^[${name[0]}${name[0]?.toUpperCase()}]${name.slice(1)}$`,
        schema,
      ]),
    ),
    additionalProperties: false,
  };
}

/** The schema let only objects through. Names with a small first letter. */
function given(value: unknown): Given {
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, item]) => [
      name === 'GC' ? 'gc' : `${name[0]?.toLowerCase()}${name.slice(1)}`,
      item,
    ]),
  );
}

function builderOf(all: Given): BuilderSettings {
  const gc = given(all['gc']);
  const entitlements = given(all['entitlements']);
  const { policy } = gc;
  return {
    gc: {
      isEnabled: gc['enabled'] !== false,
      defaults: boundsOf(gc, (name) => `default${name[0]?.toUpperCase()}${name.slice(1)}`),
      // The schema let only lists through.
      rules: policy === undefined ? undefined : (policy as unknown[]).map((item) => ruleOf(given(item))),
    },
    history: historyOf(given(all['history'])),
    entitlements: new Set([
      ...(entitlements['network-host'] === false ? [] : ['network.host']),
      ...(entitlements['security-insecure'] === true ? ['security.insecure'] : []),
      ...(entitlements['device'] === false ? [] : ['device']),
    ]),
  };
}

/** As buildkitd reads it: an age is a duration, or seconds. */
function historyOf({ maxAge, maxEntries }: Given): BuilderSettings['history'] {
  const text = typeof maxAge === 'string' || typeof maxAge === 'number' ? String(maxAge) : '';
  const nanos = /^\d+$/.test(text) ? BigInt(text) * 1_000_000_000n : parseDuration(text);
  if (maxAge !== undefined && (nanos === undefined || nanos < 0n)) {
    throw invalidArgument(`builder.history: maxAge ${text} is no duration`);
  }
  return {
    entriesMin: typeof maxEntries === 'number' ? maxEntries : HISTORY.entriesMin,
    ageMs: nanos === undefined ? HISTORY.ageMs : Number(nanos / 1_000_000n),
  };
}

function ruleOf(one: Given): PolicyRule {
  // The schema let only lists of texts through.
  const filters = (one['filter'] ?? []) as readonly string[];
  return { ...boundsOf(one, (name) => name), isAll: one['all'] === true, filters };
}

function boundsOf(all: Given, nameOf: (name: string) => string): PolicyBounds {
  const bytes = (name: string): number => {
    const text = all[nameOf(name)];
    return typeof text === 'string' ? parseSize(text, 1024) : 0;
  };
  if (all[nameOf('keepStorage')] !== undefined && all[nameOf('reservedSpace')] !== undefined) {
    throw invalidArgument(
      `builder.gc: ${nameOf('keepStorage')} is the older name of ${nameOf('reservedSpace')}: only one may be said`,
    );
  }
  return {
    reservedBytes: bytes('reservedSpace') || bytes('keepStorage'),
    usedBytesMax: bytes('maxUsedSpace'),
    freeBytesMin: bytes('minFreeSpace'),
  };
}
