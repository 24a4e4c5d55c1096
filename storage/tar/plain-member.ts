import type { TarMember } from './parser.ts';

/** A member of root's without links, devices, attributes and content: to be made where no tar described it. */
export function plainMember(
  name: string,
  { type, mode, mtimeSeconds }: { type: 'file' | 'directory'; mode: number; mtimeSeconds: number },
): TarMember {
  return {
    name,
    type,
    linkName: '',
    size: 0,
    mode,
    uid: 0,
    gid: 0,
    mtime: { seconds: mtimeSeconds, nanoseconds: 0 },
    major: 0,
    minor: 0,
    attributes: new Map(),
    offset: 0,
  };
}
