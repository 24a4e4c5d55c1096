/** One line of /proc/self/mountinfo (proc(5)). */
export interface MountInfo {
  /** Path inside the mounted file system that is seen here: `/` unless bind-mounted. */
  root: string;
  mountPoint: string;
  type: string;
  source: string;
  /** Options of the file system, as in `memory,nsdelegate`. */
  superOptions: string[];
}

/** Parses mountinfo; mounts later in the list lie over earlier ones. Lines it cannot read are left out. */
export function parseMountInfo(text: string): MountInfo[] {
  return text.split('\n').flatMap((line) => {
    // 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    const [head = '', tail] = line.split(' - ');
    const [, , , root, mountPoint] = head.split(' ');
    const [type, source, options] = tail?.split(' ') ?? [];
    if (root === undefined || mountPoint === undefined || type === undefined) {
      return [];
    }
    return [
      {
        root: unescape(root),
        mountPoint: unescape(mountPoint),
        type,
        source: unescape(source ?? ''),
        superOptions: options?.split(',') ?? [],
      },
    ];
  });
}

/** Mount points at or below `path`, deepest first and the topmost of stacked ones first: the order to unmount in. */
export function mountPointsBelow(mounts: readonly MountInfo[], path: string): string[] {
  const prefix = path.endsWith('/') ? path : `${path}/`;
  return mounts
    .map(({ mountPoint }, index) => ({ mountPoint, index, depth: mountPoint.split('/').length }))
    .filter(({ mountPoint }) => mountPoint === path || mountPoint.startsWith(prefix))
    .toSorted((left, right) => right.depth - left.depth || right.index - left.index)
    .map(({ mountPoint }) => mountPoint);
}

/** The kernel writes blank, tab, newline and backslash as three octal digits; names are UTF-8 bytes otherwise. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}
