import { invalidArgument } from '../../daemon/base/errors.ts';

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
/** NAME_MAX of the file systems: the name becomes a directory. */
const NAME_BYTES_MAX = 255;

/** Throws invalid_argument in dockerd's words unless the name can be a local volume's (it becomes a directory). */
export function checkVolumeName(name: string): void {
  if (name.length < 2) {
    throw invalidArgument(
      `create ${name}: volume name is too short, names should be at least two alphanumeric characters`,
    );
  }
  if (!NAME.test(name)) {
    throw invalidArgument(
      `create ${name}: ${JSON.stringify(name)} includes invalid characters for a local volume name, only ` +
        '"[a-zA-Z0-9][a-zA-Z0-9_.-]" are allowed. If you intended to pass a host directory, use absolute path',
    );
  }
  if (name.length > NAME_BYTES_MAX) {
    throw invalidArgument(`create ${name}: volume name is longer than ${NAME_BYTES_MAX} characters`);
  }
}
