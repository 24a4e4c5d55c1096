/** What becomes of an extended attribute that a layer carries. */
export type AttributePolicy = 'apply' | 'skip' | 'refuse';

/**
 * File capabilities, POSIX ACLs and user attributes belong to the file and are applied. Labels of the host's own
 * policy (SELinux, IMA, EVM) are left out: an image must not choose them. `trusted.*` and overlayfs's own attributes
 * steer the kernel (redirects to other directories, opaque marks), so a layer that carries them is refused.
 */
export function attributePolicy(name: string): AttributePolicy {
  if (name === 'security.capability' || name.startsWith('system.posix_acl_')) {
    return 'apply';
  }
  if (name.startsWith('trusted.') || name.startsWith('user.overlay.') || name.includes('\0')) {
    return 'refuse';
  }
  return name.startsWith('user.') ? 'apply' : 'skip';
}

/** Marks a directory of an overlay layer whose lower content is hidden (Documentation/filesystems/overlayfs). */
export const OPAQUE_ATTRIBUTE = 'trusted.overlay.opaque';

/** The type of a name in a layer tar (OCI image specification, "whiteouts"). */
export type WhiteoutName =
  | { kind: 'plain' }
  /** Everything below the directory comes from this layer only. */
  | { kind: 'opaque' }
  /** `hidden` of a lower layer is gone. */
  | { kind: 'whiteout'; hidden: string }
  /** Bookkeeping of the old aufs driver; means nothing to others. */
  | { kind: 'aufs' }
  | { kind: 'invalid' };

const PREFIX = '.wh.';

/** Decides by the last component of a name. */
export function classifyName(name: string): WhiteoutName {
  if (!name.startsWith(PREFIX)) {
    return { kind: 'plain' };
  }
  if (name === '.wh..wh..opq') {
    return { kind: 'opaque' };
  }
  const hidden = name.slice(PREFIX.length);
  if (hidden.startsWith(PREFIX)) {
    return { kind: 'aufs' };
  }
  return hidden === '' || hidden === '.' || hidden === '..'
    ? { kind: 'invalid' }
    : { kind: 'whiteout', hidden };
}
