import { invalidArgument } from '../../base/errors.ts';
import type { Root } from '../../base/kernel/files/safepath.ts';
import { readFileInRoot } from '../../base/kernel/files/safepath.ts';
import { limits } from '../../base/limits.ts';

/** The user and the groups that a process runs as. */
export interface ResolvedUser {
  uid: number;
  gid: number;
  /** Includes the primary one: without it a setgid file of that group could be left behind (CVE-2022-36109). */
  additionalGids: number[];
  home: string;
}

/** The account files of a root file system; absent ones are undefined. */
export interface AccountFiles {
  passwd: string | undefined;
  group: string | undefined;
}

interface PasswdEntry {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

interface GroupEntry {
  name: string;
  gid: number;
  members: string[];
}

/** Larger ids are taken as negative somewhere on the way, and -1 means "keep root" (CVE-2024-40635). */
const ID_MAX = 2_147_483_647;

/**
 * Reads /etc/passwd and /etc/group below `root`, links resolved inside it. Throws invalid_argument when one of them
 * is no regular file or too large: both come from the image.
 */
export function readAccountFiles(root: Root): AccountFiles {
  return {
    passwd: readFileInRoot(root, '/etc/passwd', limits.accountFileBytesMax)?.toString('utf8'),
    group: readFileInRoot(root, '/etc/group', limits.accountFileBytesMax)?.toString('utf8'),
  };
}

/**
 * Resolves `user`, `uid`, `user:group`, ... and the additional groups. Pure. A number is always an id, never a name,
 * whatever the files say (CVE-2026-46680), and needs no entry. "" is root.
 * Throws invalid_argument with dockerd's texts.
 */
export function resolveUser(
  text: string,
  files: AccountFiles,
  groupAdd: readonly string[] = [],
): ResolvedUser {
  const [userText = '', groupText = '', ...rest] = text.split(':');
  if (rest.length > 0) {
    throw invalidArgument(`invalid user specification: ${text}`);
  }
  const wantedUid = userText === '' ? 0 : parseId(userText);
  const wantedGid = groupText === '' ? undefined : parseId(groupText);
  const entry = parsePasswd(files.passwd ?? '').find((account) =>
    wantedUid === undefined ? account.name === userText : account.uid === wantedUid,
  );
  const uid = wantedUid ?? entry?.uid;
  if (uid === undefined) {
    throw invalidArgument(`unable to find user ${userText}: no matching entries in passwd file`);
  }
  refuseTooMany(text, groupAdd.length);
  const groups = parseGroups(files.group ?? '');
  const gid = groupText === '' ? (entry?.gid ?? 0) : (wantedGid ?? findGroup(groups, groupText));
  // With a group of one's own choice, those of the account do not count.
  const memberships =
    groupText === '' && entry !== undefined
      ? groups.filter((group) => group.members.includes(entry.name)).map((group) => group.gid)
      : [];
  const added = groupAdd.map((name) => parseId(name) ?? findGroup(groups, name));
  const additionalGids = [...new Set([gid, ...memberships, ...added])];
  refuseTooMany(text, additionalGids.length);
  return { uid, gid, additionalGids, home: entry?.home || '/' };
}

/**
 * Owner of files that `user`, `uid`, `user:group`, ... means to BuildKit (solver/llbsolver/file): without a group that
 * of the account, or the number; a name that the files do not have is root, or keeps the group. `unknown`: such names.
 * Pure. Throws invalid_argument for a number that is no id.
 */
export function resolveOwner(
  text: string,
  files: AccountFiles,
): { uid: number; gid: number; unknown: string[] } {
  const [userText = '', ...rest] = text.split(':');
  const groupText = rest.join(':');
  const unknown: string[] = [];
  const ids = (): { uid: number; gid: number } => {
    const id = userText === 'root' || userText === '' ? 0 : parseId(userText);
    if (id !== undefined) {
      return { uid: id, gid: id };
    }
    const found = parsePasswd(files.passwd ?? '').find(({ name }) => name === userText);
    if (found === undefined) {
      unknown.push(`user ${userText}`);
    }
    return { uid: found?.uid ?? 0, gid: found?.gid ?? 0 };
  };
  const { uid, gid } = ids();
  if (groupText === '') {
    return { uid, gid, unknown };
  }
  const given =
    parseId(groupText) ?? parseGroups(files.group ?? '').find(({ name }) => name === groupText)?.gid;
  if (given === undefined) {
    unknown.push(`group ${groupText}`);
  }
  return { uid, gid: given ?? gid, unknown };
}

function refuseTooMany(user: string, count: number): void {
  if (count > limits.userGroupsMax) {
    throw invalidArgument(`user ${user} is in ${count} groups, at most ${limits.userGroupsMax} are possible`);
  }
}

function findGroup(groups: readonly GroupEntry[], name: string): number {
  const found = groups.find((group) => group.name === name);
  if (found === undefined) {
    throw invalidArgument(`unable to find group ${name}: no matching entries in group file`);
  }
  return found.gid;
}

/** The id in `text`, undefined when it is no number. Throws for numbers that are no ids. */
function parseId(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) {
    return undefined;
  }
  const id = Number(text);
  if (id < 0 || id > ID_MAX || !Number.isInteger(id)) {
    throw invalidArgument(`uids and gids must be in range 0-${ID_MAX}: ${text}`);
  }
  return id;
}

/** Entries of passwd(5) in order; lines that are no entries are skipped. */
function parsePasswd(text: string): PasswdEntry[] {
  return fieldsOf(text, 4).flatMap(([name = '', , uidText = '', gidText = '', , home = '']) => {
    const [uid, gid] = [fileId(uidText), fileId(gidText)];
    return uid === undefined || gid === undefined ? [] : [{ name, uid, gid, home }];
  });
}

/** Entries of group(5) in order. */
function parseGroups(text: string): GroupEntry[] {
  return fieldsOf(text, 3).flatMap(([name = '', , gidText = '', members = '']) => {
    const gid = fileId(gidText);
    return gid === undefined
      ? []
      : [{ name, gid, members: members.split(',').map((member) => member.trim()) }];
  });
}

function fieldsOf(text: string, countMin: number): string[][] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim().split(':'))
    .filter((fields) => fields.length >= countMin && fields[0] !== '');
}

/** An id as the files write it; undefined makes the line none. */
function fileId(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) <= ID_MAX ? Number(text) : undefined;
}
