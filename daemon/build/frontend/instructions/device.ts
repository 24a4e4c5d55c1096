import { invalidArgument } from '../../../base/errors.ts';
import { csvFields } from '../../../base/go/csv-fields.ts';
import { parseBool } from '../../../base/go/values.ts';
import type { AskedDevice } from '../../graph/op.ts';

/**
 * `--device=vendor.com/class=name[,required]` of RUN, also as `name=vendor.com/class=name`. Throws invalid_argument
 * naming the field. Pure.
 */
export function readDevice(text: string): Omit<AskedDevice, 'isAllowed'> {
  let name: string | undefined;
  let isRequired = false;
  for (const field of csvFields(text)) {
    const [, key = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(field) ?? [];
    if (key.toLowerCase() === 'required') {
      isRequired = value === undefined || parseBool(value);
    } else if (name === undefined) {
      name = key.toLowerCase() === 'name' ? value : field;
    } else {
      throw invalidArgument(`unexpected field '${field}' in '${text}'`);
    }
  }
  if (!name) {
    throw invalidArgument(`--device=${text} names no device`);
  }
  return { name, isRequired };
}

/** A client allows all devices, or one by its name, or those of its kind. Pure. */
export function isDeviceAllowed(name: string, entitlements: ReadonlySet<string>): boolean {
  const [kind = ''] = name.split('=', 1);
  const names = ['device', ...[name, kind, `${kind}=*`].map((each) => `device=${each}`)];
  return names.some((each) => entitlements.has(each));
}
