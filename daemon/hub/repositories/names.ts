import type { InvalidField } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';

/** A part of a name in the OCI distribution specification: in lower case it must be one. */
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;

/** As in a path: without the `.git` that git's people add, and whatever the case. */
export function repositoryKey(owner: string, name: string): string {
  return `${owner}/${withoutGit(name)}`.toLowerCase();
}

export function withoutGit(name: string): string {
  return name.replace(/\.git$/i, '');
}

/** What is wrong with the name of a new repository; undefined = nothing. */
export function repositoryNameProblem(name: string): InvalidField | undefined {
  const isRight =
    PART.test(name.toLowerCase()) && name.length <= limits.hubRepositoryNameMax && name === withoutGit(name);
  return isRight
    ? undefined
    : {
        resource: 'Repository',
        field: 'name',
        code: 'invalid',
        message:
          'must be letters and digits with single dots, one or two underscores or hyphens between them, ' +
          `at most ${limits.hubRepositoryNameMax}, and must not end in .git`,
        value: name,
      };
}
