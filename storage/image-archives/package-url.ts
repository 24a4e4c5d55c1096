import { DEFAULT_TAG, parseReference } from '../references/reference.ts';

/**
 * An image as others name packages (https://github.com/package-url/purl-spec):
 * `pkg:docker/busybox@latest?digest=sha256:..&platform=linux%2Famd64`. Pure.
 */
export function packageUrl(reference: string, platform: string): string {
  const { domain, path, tag, digest } = parseReference(reference);
  const short = domain === 'docker.io' ? path.replace(/^library\//, '') : `${domain}/${path}`;
  const name = short
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll('%3A', ':'))
    .join('/');
  const version = tag ?? (digest === undefined ? DEFAULT_TAG : '');
  const qualifiers = [
    ...(digest === undefined ? [] : [`digest=${digest}`]),
    `platform=${encodeURIComponent(platform)}`,
  ];
  return `pkg:docker/${name}${version === '' ? '' : `@${encodeURIComponent(version)}`}?${qualifiers.join('&')}`;
}
