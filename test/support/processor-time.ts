/** A watch of this process's processor time, in milliseconds: what others take on a busy machine does not count. */
export function processorTime(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
}
