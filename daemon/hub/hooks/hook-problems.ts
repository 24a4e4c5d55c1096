import type { InvalidField } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';
import { isEventName, overlap } from './event-names.ts';
import type { Hook, HookConfig } from './hook.ts';

/** What is decided on of a hook. */
export type HookParts = Pick<Hook, 'events' | 'config'>;

/** Whether deliveries to this host would be refused whatever its addresses are. */
export type HostRefused = (hostname: string) => boolean;

/** What is wrong with a hook beside the other ones of its repository (seed 001 section 4 rule 1). Pure. */
export function hookProblems(
  { events, config }: HookParts,
  others: readonly HookParts[],
  isRefused: HostRefused,
): InvalidField[] {
  const alone = [urlProblem(config.url, isRefused), secretProblem(config.secret), ...eventProblems(events)];
  const wrong = alone.filter((problem) => problem !== undefined);
  return wrong.length > 0 ? wrong : besideOthers({ events, config }, others);
}

function besideOthers({ events, config }: HookParts, others: readonly HookParts[]): InvalidField[] {
  const twin = others.some((other) => isSame(other.config, config) && overlap(other.events, events));
  const full = events.find(
    (event) => others.filter((other) => other.events.includes(event)).length >= limits.hubHooksOfEventMax,
  );
  return [
    ...(twin ? [custom('config', 'Hook already exists on this repository')] : []),
    ...(full === undefined
      ? []
      : [custom('events', `The "${full}" event cannot have more than ${limits.hubHooksOfEventMax} hooks`)]),
    ...(others.length < limits.hubHooksOfRepositoryMax
      ? []
      : [custom('config', `A repository cannot have more than ${limits.hubHooksOfRepositoryMax} hooks`)]),
  ];
}

function isSame(one: HookConfig, other: HookConfig): boolean {
  return (
    one.url === other.url &&
    one.contentType === other.contentType &&
    one.secret === other.secret &&
    one.insecureSsl === other.insecureSsl
  );
}

function eventProblems(events: readonly string[]): InvalidField[] {
  if (events.length === 0) {
    return [{ resource: 'Hook', field: 'events', code: 'missing_field', message: 'must have one at least' }];
  }
  return events
    .filter((event) => !isEventName(event))
    .map((event) => ({
      resource: 'Hook',
      field: 'events',
      code: 'invalid',
      message: 'must be names of events',
      value: event,
    }));
}

function urlProblem(text: string, isRefused: HostRefused): InvalidField | undefined {
  const invalid = (message: string): InvalidField => ({
    resource: 'Hook',
    field: 'config.url',
    code: 'invalid',
    message,
    value: text,
  });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || text.length > limits.hubHookUrlMax) {
    return invalid(`must be an address of at most ${limits.hubHookUrlMax} characters`);
  }
  if (url.protocol === 'engine:') {
    return serviceOf(url) === undefined ? invalid('must be engine://services/NAME') : undefined;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return invalid('must begin with http://, https:// or engine://');
  }
  if (url.username !== '' || url.password !== '') {
    return { ...invalid('must not hold a name or a password'), value: undefined };
  }
  return isRefused(url.hostname)
    ? custom('config.url', `URL host ${url.hostname} is not supported`)
    : undefined;
}

/** The service that `engine://services/NAME` names; undefined = it names none. */
export function serviceOf(url: URL): string | undefined {
  const [, name] = /^\/([a-zA-Z0-9][a-zA-Z0-9_.-]*)$/.exec(url.pathname) ?? [];
  return url.protocol === 'engine:' && url.host === 'services' ? name : undefined;
}

function secretProblem(secret: string | null): InvalidField | undefined {
  return Buffer.byteLength(secret ?? '') <= limits.hubHookSecretBytesMax
    ? undefined
    : {
        resource: 'Hook',
        field: 'config.secret',
        code: 'invalid',
        message: `must have at most ${limits.hubHookSecretBytesMax} bytes`,
      };
}

function custom(field: string, message: string): InvalidField {
  return { resource: 'Hook', field, code: 'custom', message };
}
