import type { Filters } from '../../../api/types/requests.ts';
import { invalidArgument } from '../../base/errors.ts';
import { filterBool, hasLabel } from '../../base/filters.ts';
import { textMatcher } from '../../base/text-matcher.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { lastRun, liveRun, shownStatus } from '../state/state-facts.ts';

/** Says whether a container passes. */
export type Test = (container: Container) => boolean;

/** Builds the test of one filter key from its values. Throws invalid_argument for values that mean nothing. */
type TestBuilder = (values: readonly string[], context: ContainerContext) => Test;

const STATUSES: ReadonlySet<string> = new Set([
  'created',
  'restarting',
  'running',
  'removing',
  'paused',
  'exited',
  'dead',
]);
const HEALTHS: ReadonlySet<string> = new Set(['starting', 'healthy', 'unhealthy', 'none']);

/** Every key that the list knows (API "list containers", `filters`). */
const builders: Readonly<Record<string, TestBuilder>> = {
  ancestor: ancestorTest,
  before: (values, { registry }) => {
    const limit = oldest(values.map((ref) => registry.find(ref).createdNano));
    return ({ createdNano }) => createdNano < limit;
  },
  since: (values, { registry }) => {
    const limit = newest(values.map((ref) => registry.find(ref).createdNano));
    return ({ createdNano }) => createdNano > limit;
  },
  exited: (values) => {
    const codes = new Set(values.map((value) => exitCode(value)));
    return ({ state }) => {
      const { exitCode: code, startedAtNano } = lastRun(state);
      return startedAtNano !== null && liveRun(state) === undefined && codes.has(code);
    };
  },
  health: (values) => {
    values.forEach((value) => oneOf('health', value, HEALTHS));
    return ({ state }) => values.includes(lastRun(state).health?.status ?? 'none');
  },
  id: (values) => {
    const matches = values.map((value) => textMatcher(value));
    return ({ id }) => matches.some((match) => match(id));
  },
  'is-task': (values) => {
    const wanted = filterBool('is-task', values);
    return ({ spec }) => wanted === (spec.ofTask === true);
  },
  isolation: (values) => {
    // A matter of Windows; elsewhere there is the default only.
    return ({ spec }) => values.some((value) => value === (spec.hostConfig.Isolation || 'default'));
  },
  label: (values) => labelTest(values),
  name: (values) => {
    const matches = values.map((value) => textMatcher(value));
    return ({ name }) => matches.some((match) => match(`/${name}`) || match(name));
  },
  network: (values) => {
    // By name, id, or the beginning of an id, as dockerd.
    const isWanted = (name: string, id = ''): boolean =>
      values.some((value) => value === name || (value !== '' && id.startsWith(value)));
    return (container) =>
      Object.entries(liveRun(container.state)?.sandbox.endpoints ?? container.spec.networking).some(
        ([name, { NetworkID }]) => isWanted(name, NetworkID),
      );
  },
  publish: (values) => portMatcher('publish', values),
  expose: (values) => portMatcher('expose', values),
  status: (values) => {
    values.forEach((value) => oneOf('status', value, STATUSES));
    return ({ state }) => values.includes(shownStatus(state));
  },
  volume: (values) => {
    const wanted = new Set(values);
    return ({ spec }) =>
      spec.mounts.some(
        (mount) =>
          wanted.has(mount.destination) ||
          (mount.type === 'volume' && wanted.has(mount.name)) ||
          (mount.type === 'bind' && mount.isHidden !== true && wanted.has(mount.source)),
      );
  },
};

/** One test that is all filters at once. Throws invalid_argument for a key or value that is none of ours. */
export function listTest(filters: Filters, context: ContainerContext): Test {
  const tests = [...filters].map(([key, values]) => {
    const build = Object.hasOwn(builders, key) ? builders[key] : undefined;
    if (build === undefined) {
      throw invalidArgument(`invalid filter '${key}'`);
    }
    return build(values, context);
  });
  return (container) => tests.every((test) => test(container));
}

/** `label=key`, `label=key=value`: a container must have all of them. */
export function labelTest(values: readonly string[]): Test {
  return ({ spec }) => values.every((value) => hasLabel(spec.config.Labels ?? {}, value));
}

function ancestorTest(values: readonly string[], { images }: ContainerContext): Test {
  // An image that is gone may still be the ancestor by its id; one that never was matches nothing.
  const ids = new Set(values.flatMap((ref) => [ref, ...images.descendants(ref)]));
  return ({ imageId }) => ids.has(imageId);
}

function exitCode(value: string): number {
  if (!/^-?\d+$/.test(value)) {
    throw invalidArgument(`invalid filter 'exited=${value}'`);
  }
  return Number(value);
}

function oneOf(key: string, value: string, known: ReadonlySet<string>): void {
  if (!known.has(value)) {
    throw invalidArgument(`invalid filter '${key}=${value}'`);
  }
}

const oldest = (times: readonly bigint[]): bigint => times.reduce((a, b) => (a < b ? a : b));
const newest = (times: readonly bigint[]): bigint => times.reduce((a, b) => (a > b ? a : b));

interface PortRange {
  first: number;
  last: number;
  protocol: string;
}

/**
 * `publish` and `expose` of the list: `80`, `80/udp`, `8000-8080/tcp`. As in dockerd the one looks at ports of the
 * host, which only running containers have, the other at those the container declares.
 */
function portMatcher(
  key: 'publish' | 'expose',
  values: readonly string[],
): (container: Container) => boolean {
  const ranges = values.map((value) => parseRange(key, value));
  return (container) => portsOf(key, container).some((port) => ranges.some((range) => isIn(port, range)));
}

function portsOf(key: 'publish' | 'expose', { spec, state }: Container): string[] {
  if (key === 'expose') {
    return Object.keys(spec.config.ExposedPorts ?? {});
  }
  return Object.entries(liveRun(state)?.sandbox.ports ?? {}).flatMap(([port, bindings]) =>
    (bindings ?? []).map(({ HostPort }) => `${HostPort}/${port.split('/')[1] ?? 'tcp'}`),
  );
}

function parseRange(key: string, value: string): PortRange {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/.exec(value);
  if (!match) {
    throw invalidArgument(`invalid filter '${key}=${value}'`);
  }
  const [, first, last, protocol = 'tcp'] = match;
  return { first: Number(first), last: Number(last ?? first), protocol };
}

function isIn(port: string, { first, last, protocol }: PortRange): boolean {
  const [number, portProtocol = 'tcp'] = port.split('/');
  return portProtocol === protocol && Number(number) >= first && Number(number) <= last;
}
