import { invalidArgument } from '../../base/errors.ts';

/**
 * Where an import comes from (parameter `fromSrc`). What has no scheme is the name of a host and a path, as dockerd
 * takes it (moby api/server/router/image, postImagesCreate). Throws invalid_argument. Pure.
 */
export function importUrl(text: string): URL {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalidArgument(`parameter fromSrc: ${JSON.stringify(text)} is neither - nor an http or https URL`);
  }
  return url;
}
