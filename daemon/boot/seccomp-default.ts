import { readFileSync } from 'node:fs';
import { parseSeccompProfile } from '../../runtime/security/seccomp-profile.ts';
import { errorText, invalidArgument } from '../base/errors.ts';

/**
 * What the setting `seccomp-profile` stands for: `builtin` and `unconfined` themselves, else the JSON in the file.
 * Throws invalid_argument when there is no such file or it is no profile: no container may run without its filter.
 */
export function readSeccompDefault(setting: string): string {
  if (!setting.startsWith('/')) {
    return setting;
  }
  try {
    const text = readFileSync(setting, 'utf8');
    parseSeccompProfile(text);
    return text;
  } catch (error) {
    throw invalidArgument(`seccomp-profile: ${setting}: ${errorText(error)}`, { cause: error });
  }
}
