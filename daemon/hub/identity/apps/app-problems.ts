import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';

/** `My App!` -> `my-app`. Empty where there is nothing to make one of. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

export function appNameProblem(resource: string, name: string): InvalidField | undefined {
  const isRight = name.length <= limits.hubAppNameMax && slugOf(name) !== '';
  return isRight
    ? undefined
    : {
        resource,
        field: 'name',
        code: 'invalid',
        message: `must have letters or digits, and at most ${limits.hubAppNameMax} characters`,
        value: name,
      };
}

/** Undefined also for what is not there. */
export function urlProblem(resource: string, field: string, url: string | null): InvalidField | undefined {
  const isRight = url === null || (url.length <= limits.hubUrlMax && isWebAddress(url));
  return isRight
    ? undefined
    : { resource, field, code: 'invalid', message: 'must be an address http:// or https://', value: url };
}

function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}
