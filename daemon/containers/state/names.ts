import { conflict, invalidArgument } from '../../base/errors.ts';

/** The rule of the API 1.24 document, with dots after the first character: swarm names its tasks `web.1.<id>`. */
const CONTAINER_NAME = /^\/?[a-zA-Z0-9_-][a-zA-Z0-9_.-]*$/;

/** A container name as clients may give it, without the one leading slash it may have. Throws invalid_argument. */
export function checkName(name: string): string {
  if (!CONTAINER_NAME.test(name)) {
    throw invalidArgument(`Invalid container name (${name}), only [a-zA-Z0-9_-][a-zA-Z0-9_.-]* are allowed`, {
      details: { name },
    });
  }
  return name.startsWith('/') ? name.slice(1) : name;
}

/** The conflict that clients match on when a name is in use. */
export function nameConflict(name: string, ownerId: string): Error {
  return conflict(
    `Conflict. The container name "/${name}" is already in use by container "${ownerId}". ` +
      'You have to remove (or rename) that container to be able to reuse that name.',
  );
}
