import type { ImageSearchItem } from '../../api/types/image.ts';
import type { SearchOptions } from '../../api/types/ports.ts';
import type { Filters } from '../../api/types/requests.ts';
import { expectAddresses } from '../../storage/registry/addresses.ts';
import { connectRegistry, type RegistryAccess } from '../../storage/registry/connect.ts';
import { bytesOf } from '../../storage/registry/http.ts';
import { pages } from '../../storage/registry/repository.ts';
import { drain, RegistrySession } from '../../storage/registry/session.ts';
import { isRegistryName } from '../../storage/references/reference.ts';
import { asArray, asObject, asStrings, parseJson } from '../../storage/image/json.ts';
import { invalidArgument, isEngineError } from '../base/errors.ts';
import { filterBool } from '../base/filters.ts';
import { limits } from '../base/limits.ts';

/** Where the first version of Docker Hub's API lives, the only one with a search. */
const HUB_INDEX = 'index.docker.io';

/**
 * Repositories by a word. Registries that know the search of the first API version are asked for it; the others list
 * all their repositories, which are looked through here. Throws invalid_argument for a limit or filter that is none.
 */
export async function searchRegistry(
  access: RegistryAccess,
  options: SearchOptions,
): Promise<ImageSearchItem[]> {
  const limit = options.limit ?? limits.registrySearchDefault;
  if (limit < 1 || limit > limits.registrySearchMax) {
    throw invalidArgument(`Limit ${limit} is outside the range of [1, ${limits.registrySearchMax}]`);
  }
  const matches = parseFilters(options.filters);
  const { domain, word } = splitTerm(options.term);
  using session =
    domain === HUB_INDEX
      ? new RegistrySession(
          { base: `https://${HUB_INDEX}`, verified: true },
          { ca: [], verified: true },
          options.auth,
        )
      : await connectRegistry(access, domain, options.auth, options.signal);
  if (domain !== HUB_INDEX) {
    await introduce(session, options);
  }
  const { lookupWaitMs } = access;
  const found = await ask(session, { domain, word, limit, signal: options.signal, lookupWaitMs });
  return found.filter((item) => matches(item)).slice(0, limit);
}

/**
 * The search answers whoever shows nothing with what is public. What `docker login` got in place of a password is good
 * for a token of the registry, which its second version gives (as dockerd).
 */
async function introduce(session: RegistrySession, { auth, signal }: SearchOptions): Promise<void> {
  if (!auth.identityToken) {
    session.introduce();
    return;
  }
  session.want(['registry:catalog:search']);
  await drain(await session.request({ method: 'GET', url: session.url('/v2/'), signal }));
}

/** The part before the first slash is a registry when it looks like one. Pure. */
export function splitTerm(term: string): { domain: string; word: string } {
  if (term === '' || term.includes('://')) {
    throw invalidArgument(`invalid repository name ${JSON.stringify(term)}`);
  }
  const slash = term.indexOf('/');
  const first = term.slice(0, Math.max(slash, 0));
  if (/[.:]/.test(first) || first === 'localhost') {
    if (!isRegistryName(first)) {
      throw invalidArgument(`invalid registry name ${JSON.stringify(first)}`);
    }
    const isHub = first === 'docker.io' || first === HUB_INDEX;
    return { domain: isHub ? HUB_INDEX : first, word: term.slice(slash + 1) };
  }
  return { domain: HUB_INDEX, word: term.replace(/^library\//, '') };
}

/** Throws invalid_argument for unknown filters and values. Pure. */
export function parseFilters(filters: Filters): (item: ImageSearchItem) => boolean {
  const tests: ((item: ImageSearchItem) => boolean)[] = [];
  for (const [key, values] of filters) {
    switch (key) {
      case 'stars': {
        if (!values.every((value) => /^\d{1,15}$/.test(value))) {
          throw invalidArgument(`invalid filter '${key}=[${values.join(' ')}]'`);
        }
        const least = Math.max(0, ...values.map(Number));
        tests.push((item) => item.star_count >= least);
        break;
      }
      case 'is-automated':
      case 'is-official': {
        const wanted = filterBool(key, values);
        const field = key === 'is-official' ? 'is_official' : 'is_automated';
        tests.push((item) => item[field] === wanted);
        break;
      }
      default:
        throw invalidArgument(`invalid filter '${key}'`);
    }
  }
  return (item) => tests.every((test) => test(item));
}

interface Question {
  domain: string;
  word: string;
  limit: number;
  signal: AbortSignal;
  lookupWaitMs: RegistryAccess['lookupWaitMs'];
}

async function ask(session: RegistrySession, question: Question): Promise<ImageSearchItem[]> {
  const { domain, word, limit, signal, lookupWaitMs } = question;
  const url = session.url('/v1/search');
  await expectAddresses(url, lookupWaitMs);
  url.searchParams.set('q', word);
  url.searchParams.set('n', String(limit));
  try {
    // One try only: the user of a search looks at an empty screen until the answer comes.
    const bytes = await bytesOf(
      await session.request({ method: 'GET', url, signal }),
      limits.manifestBytesMax,
    );
    const { results } = asObject(parseJson(bytes, 'search'), 'search');
    return asArray(results ?? [], 'search.results').map((item) =>
      named(domain, toItem(asObject(item, 'search.results'))),
    );
  } catch (error) {
    if (!isEngineError(error, 'not_found')) {
      throw error;
    }
    return await lookThrough(session, question);
  }
}

/** Of a registry other than Docker Hub by the name that `docker pull` takes. Pure. */
function named(domain: string, item: ImageSearchItem): ImageSearchItem {
  const isWhole = domain === HUB_INDEX || item.name.startsWith(`${domain}/`);
  return isWhole ? item : { ...item, name: `${domain}/${item.name}` };
}

/** Names of all repositories that hold the word; such a registry knows no more of them. */
async function lookThrough(
  session: RegistrySession,
  { domain, word, limit, signal }: Question,
): Promise<ImageSearchItem[]> {
  session.want(['registry:catalog:*']);
  const found: ImageSearchItem[] = [];
  for await (const page of pages(session, session.url('/v2/_catalog?n=1000'), { signal })) {
    const names = asStrings(page['repositories'] ?? [], '_catalog.repositories');
    const fitting = names.filter((name) => name.includes(word.toLowerCase()));
    found.push(...fitting.map((name) => toItem({ name: `${domain}/${name}` })));
    if (found.length >= limit) {
      break;
    }
  }
  return found;
}

function toItem(fields: Readonly<Record<string, unknown>>): ImageSearchItem {
  const text = (key: string): string => {
    const value = fields[key];
    return typeof value === 'string' ? value : '';
  };
  const { star_count: stars } = fields;
  return {
    name: text('name'),
    description: text('description'),
    is_official: fields['is_official'] === true,
    is_automated: fields['is_automated'] === true,
    star_count: typeof stars === 'number' && Number.isSafeInteger(stars) ? stars : 0,
  };
}
