import { errorText, invalidArgument } from '../../../base/errors.ts';
import { parseSize } from '../../../base/go/values.ts';

/** Bytes that the container may write, by its `StorageOpt`; 0 = no limit. Throws invalid_argument. Pure. */
export function storageLimit(options: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(options)) {
    if (name.toLowerCase() !== 'size') {
      throw invalidArgument(`StorageOpt: Unknown option ${name}`);
    }
    try {
      bytes = parseSize(value, 1024);
    } catch (error) {
      throw invalidArgument(`StorageOpt ${name}=${value}: ${errorText(error)}`);
    }
  }
  return bytes;
}
