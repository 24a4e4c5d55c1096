import { readFileSync } from 'node:fs';
import { errorText, invalidArgument } from '../../base/errors.ts';

/** The text of a file that a setting names. Throws invalid_argument that names the setting. */
export function pem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidArgument(`${setting}: ${errorText(error)}`, { cause: error });
  }
}
