import { errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import type { FrontendResult, ResultRef, ReturnedResult } from '../../types/build/ports.ts';
import type { RefMessage, ResultMessage } from '../proto/gateway.ts';
import { sentDefinition } from './definition.ts';

const CONFIG = 'containerimage.config';
const PLATFORMS = 'refs.platforms';

/** What a frontend made: one reference, or one for each platform. Pure. */
export function sentRefs({ platforms, ...made }: FrontendResult): Partial<ResultMessage> {
  if (platforms !== undefined) {
    return { refs: { refs: new Map([...platforms].map(([name, one]) => [name, sentRef(one)])) } };
  }
  return made.ref === '' ? {} : { ref: sentRef(made) };
}

function sentRef({ ref, definition }: ResultRef): RefMessage {
  return { id: ref, def: sentDefinition(definition) };
}

/**
 * What a client returns: nothing, one result, or one for each platform, in the order that it names. Pure. Throws
 * invalid_argument for an order that is no JSON.
 */
export function returnedResults(result: ResultMessage | undefined): ReturnedResult[] {
  if (result === undefined) {
    return [];
  }
  const { ref, refs, oldRef, metadata } = result;
  const only = ref?.id ?? oldRef;
  if (only !== '') {
    return [withConfig(only, metadata.get(CONFIG))];
  }
  const all = refs?.refs ?? new Map<string, { id: string }>();
  const order = orderOf(metadata.get(PLATFORMS));
  return [...all]
    .toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([name, { id }]) => withConfig(id, metadata.get(`${CONFIG}/${name}`) ?? metadata.get(CONFIG)));
}

function withConfig(ref: string, config: Buffer | undefined): ReturnedResult {
  return { ref, ...(config !== undefined && { config }) };
}

/** Names of platforms as a client lists them. Throws invalid_argument for what is no JSON. */
function orderOf(bytes: Buffer | undefined): string[] {
  let list: unknown;
  try {
    list = JSON.parse(bytes?.toString('utf8') ?? '{}');
  } catch (error) {
    throw invalidArgument(`${PLATFORMS}: ${errorText(error)}`, { cause: error });
  }
  const platforms = typeof list === 'object' && list !== null && 'Platforms' in list ? list.Platforms : [];
  return Array.isArray(platforms)
    ? platforms.map((item: unknown) =>
        typeof item === 'object' && item !== null && 'ID' in item ? String(item.ID) : '',
      )
    : [];
}
