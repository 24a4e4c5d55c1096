import { invalidArgument, notImplemented } from '../../../daemon/base/errors.ts';
import { newSwarmId } from '../../objects/ids.ts';
import { put } from '../../objects/parts.ts';
import { nameKey, sealedKey } from '../../objects/values.ts';
import { checkDataName } from '../base/names.ts';
import { rpcError } from '../base/rpc-error.ts';
import { write } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { checkSize, type DataKind, type DataRequest } from './kinds.ts';

/** Standard base64 with padding, as Go writes and reads it. Line breaks are ignored there. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Stores a secret or config with its data, sealed, under a name that is free. Answers its id. */
export async function createData(
  context: ControlContext,
  kind: DataKind,
  { Data: sent, ...rest }: DataRequest,
): Promise<string> {
  const { cluster, random, sealer } = context;
  const spec = { ...rest, Name: rest.Name ?? '', Labels: rest.Labels ?? {} };
  const data = decodeData(sent);
  checkDataName(spec.Name);
  if (kind === 'secret' && spec.Driver) {
    throw notImplemented('SecretSpec.Driver: secrets are kept in the store, not by plugins');
  }
  checkTemplating(spec.Templating);
  checkSize(kind, data);
  const id = newSwarmId(random);
  const name = nameKey(kind, spec.Name);
  const key = sealedKey[kind](id);
  await write(context, {
    decide: () => {
      if (cluster.value(name) !== undefined) {
        throw rpcError('AlreadyExists', `${kind} ${spec.Name} already exists`);
      }
      const now = nowMs(context);
      return {
        conditions: [{ key: name, revision: 0 }],
        parts: [put(kind, { id, created: now, updated: now, spec })],
        values: [
          { kind: 'put', key: name, value: Buffer.from(id) },
          { kind: 'put', key, value: sealer.seal(key, data) },
        ],
        answer: undefined,
      };
    },
  });
  return id;
}

/** Throws invalid_argument for what is no base64. */
export function decodeData(sent: string | null | undefined): Buffer {
  const text = (sent ?? '').replace(/[\r\n]/g, '');
  if (!BASE64.test(text)) {
    throw invalidArgument('Data is not valid base64');
  }
  return Buffer.from(text, 'base64');
}

function checkTemplating(templating: DataRequest['Templating']): void {
  if (templating && templating.Name !== 'golang') {
    throw rpcError('InvalidArgument', `Templating: unsupported driver ${JSON.stringify(templating.Name)}`);
  }
}
