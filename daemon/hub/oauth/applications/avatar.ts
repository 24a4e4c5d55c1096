import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';

/** An application's image. Records `oauth-avatar/<id>`. */
export interface Avatar {
  mediaType: string;
  /** Base64. */
  bytes: string;
}

/** Images that browsers run no scripts of, by what their bytes begin with, in hexadecimal (no SVG). */
const KINDS: readonly (readonly [mediaType: string, start: RegExp])[] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638(37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
];

/** Reads base64, or a `data:` address whose type is not believed. Answers what is wrong instead. Pure. */
export function readAvatar(text: string): { avatar: Avatar } | { problem: InvalidField } {
  const base64 = text.replace(/^data:image\/[a-z.+-]{1,30};base64,/, '');
  const bytes = Buffer.from(base64, 'base64');
  const start = bytes.toString('hex', 0, 16);
  const mediaType = KINDS.find(([, pattern]) => pattern.test(start))?.[0];
  return mediaType === undefined || bytes.length > limits.hubAvatarBytesMax
    ? {
        problem: {
          resource: 'OAuthApplication',
          field: 'avatar',
          code: 'invalid',
          message: `must be a PNG, JPEG, GIF or WebP image in base64, of at most ${limits.hubAvatarBytesMax} bytes`,
        },
      }
    : { avatar: { mediaType, bytes: bytes.toString('base64') } };
}
