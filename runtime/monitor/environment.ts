/** The whole environment of conmon and runc: nothing of the daemon's own, like NOTIFY_SOCKET, reaches them. */
export function runcEnvironment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
    // runc lives for 20 ms: collecting its garbage takes one of them, and frees nothing in time.
    GOGC: 'off',
  };
}
