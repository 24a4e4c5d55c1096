/** A listening socket that systemd opened for us. */
export interface PassedSocket {
  fd: number;
  /** FileDescriptorName= of the socket unit; `unknown` when there is none. */
  name: string;
}

/** The first descriptor after standard input, output and error (sd_listen_fds(3)). */
const FIRST_FD = 3;

/** Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES. Pure. Empty when they are meant for another process. */
export function readPassedSockets(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): PassedSocket[] {
  const count = Number(environment['LISTEN_FDS'] ?? 0);
  if (Number(environment['LISTEN_PID']) !== pid || !Number.isInteger(count) || count < 1) {
    return [];
  }
  const names = (environment['LISTEN_FDNAMES'] ?? '').split(':');
  return Array.from({ length: count }, (_, index) => ({
    fd: FIRST_FD + index,
    name: names[index] || 'unknown',
  }));
}

/** Removes the variables, so that no child process takes the sockets for its own. Node has made them close-on-exec. */
export function forgetPassedSockets(environment: NodeJS.ProcessEnv): void {
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) {
    delete environment[name];
  }
}
