import { sealedKey } from '../../objects/values.ts';
import type { Write } from '../../store/port.ts';
import type { ControlContext } from '../context.ts';

type Context = Pick<ControlContext, 'cluster' | 'sealer'>;

/** A service's credentials for registries, present and before its last update; undefined = none. */
export interface Credentials {
  current: string | undefined;
  previous: string | undefined;
}

export function readCredentials(context: Context, service: string): Credentials {
  return {
    current: read(context, sealedKey.registryAuth(service)),
    previous: read(context, sealedKey.previousRegistryAuth(service)),
  };
}

/** Keys that are not there are not deleted: a transaction has room for few writes. */
export function writeCredentials(context: Context, service: string, to: Credentials): Write[] {
  return [
    ...writeOne(context, sealedKey.registryAuth(service), to.current),
    ...writeOne(context, sealedKey.previousRegistryAuth(service), to.previous),
  ];
}

function read({ cluster, sealer }: Context, key: string): string | undefined {
  const entry = cluster.value(key);
  return entry && sealer.open(key, entry.value).toString();
}

function writeOne({ cluster, sealer }: Context, key: string, text: string | undefined): Write[] {
  if (text !== undefined) {
    return [{ kind: 'put', key, value: sealer.seal(key, Buffer.from(text)) }];
  }
  return cluster.value(key) === undefined ? [] : [{ kind: 'delete', key }];
}
