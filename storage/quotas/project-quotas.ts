import { constants, openSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { dirname } from 'node:path';
import { EngineError, errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import {
  enforcesProjectLimits,
  limitProject,
  projectOf,
  projectQuota,
  setProject,
} from '../../daemon/base/kernel/files/project-quota.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import type { DirectoryQuotas } from './directory-quotas.ts';

/** Projects in this range are ours: administrators number theirs from 1, other engines from the next free number. */
const FIRST_PROJECT = 0x4000_0000;
const PROJECTS = 0x3fff_0000;
const ATTEMPTS_MAX = 100;
/** What file systems and kernels without projects, or mounted without their limits, answer. */
const NOT_HERE = new Set([
  'ENOTTY',
  'EOPNOTSUPP',
  'ENOTSUP',
  'ENOSYS',
  'ESRCH',
  'EINVAL',
  'ENOTBLK',
  'EPERM',
]);
const NO_DIRECTORY = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
const O_CLOEXEC = 0o2000000;

/** Limits by projects of XFS (mounted with `pquota`) and ext4 (feature `project`, mounted with `prjquota`). */
export class ProjectQuotas implements DirectoryQuotas {
  obstacle(parent: string): string | undefined {
    // Of ours only the last name is certain not to be a link: an administrator may keep the parent elsewhere.
    using directory = open(parent, { follow: true });
    try {
      const { id, isHandedDown } = projectOf(directory.fd);
      if (isHandedDown || id !== 0) {
        // A directory belongs to one project only: its bytes would no longer count in the one of the administrator.
        return `${parent} belongs to project ${id}`;
      }
      if (enforcesProjectLimits(directory.fd)) {
        return undefined;
      }
    } catch (error) {
      if (!NOT_HERE.has(errnoOf(error) ?? '')) {
        throw error;
      }
    }
    return (
      `the file system of ${parent} has no project quotas: ` +
      'it takes XFS mounted with pquota, ext4 with prjquota; and Linux 5.14'
    );
  }

  async limit(directories: readonly [string, ...string[]], bytes: number): Promise<void> {
    const [path] = directories;
    using directory = open(path);
    const reason = this.obstacle(dirname(path));
    if (reason !== undefined) {
      throw invalidArgument(reason);
    }
    const { id } = projectOf(directory.fd);
    if (id !== 0 && !isOurs(id)) {
      throw invalidArgument(`${path} belongs to project ${id}`);
    }
    const project = id === 0 ? await freeProject(directory.fd) : id;
    // First the project, which the directory shows, then the limit: leftovers of a crash can be found again.
    for (const each of directories) {
      using member = open(each);
      setProject(member.fd, project);
    }
    failpoint('quota.project');
    await limitProject(directory.fd, project, bytes);
    failpoint('quota.limit');
  }

  async usage(path: string): Promise<{ usedBytes: number; limitBytes: number } | undefined> {
    using directory = open(path);
    const id = ourProject(directory.fd);
    return id === undefined ? undefined : await projectQuota(directory.fd, id);
  }

  async forget(path: string): Promise<void> {
    try {
      using directory = open(path);
      const id = ourProject(directory.fd);
      if (id !== undefined) {
        failpoint('quota.forget');
        await limitProject(directory.fd, id, 0);
      }
    } catch (error) {
      if (!NO_DIRECTORY.has(errnoOf(error) ?? '') && !NOT_HERE.has(errnoOf(error) ?? '')) {
        throw error;
      }
    }
  }
}

function open(path: string, { follow = false } = {}): OpenFile {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | O_CLOEXEC;
  return new OpenFile(openSync(path, follow ? flags : flags | constants.O_NOFOLLOW));
}

function isOurs(id: number): boolean {
  return id >= FIRST_PROJECT && id < FIRST_PROJECT + PROJECTS;
}

/** Of an open directory; undefined where it has none of ours. */
function ourProject(fd: number): number | undefined {
  try {
    const { id } = projectOf(fd);
    return isOurs(id) ? id : undefined;
  } catch (error) {
    if (NOT_HERE.has(errnoOf(error) ?? '')) {
      return undefined;
    }
    throw error;
  }
}

/** By chance, not by counting: several daemons may share a file system, and what was deleted may still be counted. */
async function freeProject(fd: number): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const id = FIRST_PROJECT + randomInt(PROJECTS);
    const { usedBytes, limitBytes } = await projectQuota(fd, id);
    if (usedBytes === 0 && limitBytes === 0) {
      return id;
    }
  }
  throw new EngineError('resource_exhausted', `no free project in ${ATTEMPTS_MAX} attempts`);
}
