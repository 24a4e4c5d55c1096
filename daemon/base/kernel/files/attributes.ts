import { cString } from './files.ts';
import { declare } from '../libc.ts';

/** Extended attributes (xattr(7)) of files; those of `files.ts` hold here too: links are not followed. */
const fsetxattr = declare(
  'int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)',
);
const lsetxattr = declare(
  'int lsetxattr(const void *path, const char *name, const void *value, size_t size, int flags)',
);
const lgetxattr = declare('long lgetxattr(const void *path, const char *name, void *value, size_t size)');
const llistxattr = declare('long llistxattr(const void *path, void *list, size_t size)');
const flistxattr = declare('long flistxattr(int fd, void *list, size_t size)');
const fremovexattr = declare('int fremovexattr(int fd, const char *name)');
const fgetxattr = declare('long fgetxattr(int fd, const char *name, void *value, size_t size)');

/** Largest value of one attribute (XATTR_SIZE_MAX of linux/limits.h). */
const XATTR_BYTES_MAX = 65_536;

export function setAttribute(fd: number, attribute: string, value: Buffer): void {
  fsetxattr(attribute, fd, attribute, value, value.length, 0);
}

export function removeAttribute(fd: number, attribute: string): void {
  fremovexattr(attribute, fd, attribute);
}

/** For objects that cannot be opened (links, devices); `directory` is a descriptor of ours, so its name is trusted. */
export function setAttributeAt(directory: number, name: string, attribute: string, value: Buffer): void {
  lsetxattr(attribute, cString(`/proc/self/fd/${directory}/${name}`), attribute, value, value.length, 0);
}

/** Value of an attribute of `path` (a trusted path of ours; a link is not followed). Throws ENODATA, ENOTSUP. */
export function getAttribute(path: string, attribute: string): Buffer {
  const value = Buffer.alloc(XATTR_BYTES_MAX);
  const size = lgetxattr(attribute, cString(path), attribute, value, value.length);
  return value.subarray(0, size);
}

/** Names of the attributes of `path` (a trusted path of ours; a link is not followed). */
export function listAttributes(path: string): string[] {
  if (llistxattr(path, cString(path), null, 0) === 0) {
    return [];
  }
  const list = Buffer.alloc(XATTR_BYTES_MAX);
  const size = llistxattr(path, cString(path), list, list.length);
  return namesIn(list.subarray(0, size));
}

/** Attribute names of an open file or directory (not of an O_PATH descriptor). Throws ENOTSUP. */
export function listAttributesOf(fd: number): string[] {
  const size = flistxattr(`descriptor ${fd}`, fd, null, 0);
  if (size === 0) {
    return [];
  }
  const list = Buffer.alloc(XATTR_BYTES_MAX);
  const length = flistxattr(`descriptor ${fd}`, fd, list, list.length);
  return namesIn(list.subarray(0, length));
}

/** Value of an attribute of an open file or directory. Throws ENODATA, ENOTSUP. */
export function getAttributeOf(fd: number, attribute: string): Buffer {
  const value = Buffer.alloc(XATTR_BYTES_MAX);
  const size = fgetxattr(attribute, fd, attribute, value, value.length);
  return value.subarray(0, size);
}

/** Names, each ended by a NUL. */
function namesIn(list: Buffer): string[] {
  return list
    .toString('latin1')
    .split('\0')
    .filter((name) => name !== '');
}
