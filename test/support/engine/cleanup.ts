import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';

/**
 * Removes what a daemon leaves when it is killed: processes, mounts, cgroups, files. Only ever called with names that
 * one test made for itself.
 */

/** Command lines (NUL separated) of all processes. */
export function processes(): { pid: number; commandLine: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), commandLine: readOrEmpty(`/proc/${name}/cmdline`) }));
}

/** Ends every process that has `root` in its command line: monitors, helpers. */
export function killProcessesNaming(root: string): void {
  for (const { pid, commandLine } of processes()) {
    if (commandLine.includes(root) && pid !== process.pid) {
      kill(pid);
    }
  }
}

/** Mount points at or below a folder, deepest first. */
export function mountsBelow(root: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => decodeMountPath(line.split(' ')[4] ?? ''))
    .filter((mountPoint) => mountPoint === root || mountPoint.startsWith(`${root}/`))
    .toReversed();
}

/** Every directory of this cgroup (a path like `/berth-test-1`) in all hierarchies, deepest first. */
export function cgroupDirectories(parent: string): string[] {
  const roots = ['/sys/fs/cgroup', ...children('/sys/fs/cgroup')];
  return roots.flatMap((root) => {
    const folder = path.join(root, parent);
    return existsSync(folder) ? [...descendants(folder), folder] : [];
  });
}

/** Processes in a cgroup and below it, in any hierarchy. */
export function pidsInCgroup(parent: string): number[] {
  const pids = cgroupDirectories(parent).flatMap((folder) =>
    readOrEmpty(path.join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
  );
  return [...new Set(pids)];
}

/** Kills what runs in the cgroup and removes it from all hierarchies. */
export function removeCgroup(parent: string): void {
  const deadline = performance.now() + 5000;
  for (let left = pidsInCgroup(parent); left.length > 0 && performance.now() < deadline;) {
    left.forEach(kill);
    pause(20);
    left = pidsInCgroup(parent);
  }
  for (const folder of cgroupDirectories(parent)) {
    try {
      rmdirSync(folder);
    } catch {
      // Still busy: a zombie's cgroup goes when it is reaped; the name is this test's own.
    }
  }
}

/** Unmounts everything below a folder and removes it. */
export function removeTree(root: string): void {
  for (const mountPoint of mountsBelow(root)) {
    execFileSync('umount', ['--lazy', mountPoint], { stdio: 'ignore' });
  }
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
}

/** Blocks this thread: for the few places that wait for the kernel outside any event loop. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended meanwhile.
  }
}

function children(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(folder, entry.name));
  } catch {
    // Not there, or not any more: cgroups come and go.
    return [];
  }
}

function descendants(folder: string): string[] {
  return children(folder).flatMap((child) => [...descendants(child), child]);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process or cgroup is gone.
    return '';
  }
}

function decodeMountPath(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
