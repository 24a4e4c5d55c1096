import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Where everything lies that the runtime keeps of containers: below one directory, usually on a tmpfs, named after
 * the container, so that a sweep finds what has no owner.
 *
 *   containers/<id>/            bundle: what conmon and runc are given, and conmon's sockets
 *   containers/<id>/exec/<id>/  one directory per exec session
 *   runc/<id>/                  state of runc, or of another runtime
 *   exits/<id>                  exit code, written by conmon
 *   tmp/                        conmon's short-lived console sockets
 */
export class ExecRoot {
  readonly containers: string;
  readonly runc: string;
  readonly exits: string;
  readonly temporary: string;

  constructor(path: string) {
    this.containers = join(path, 'containers');
    this.runc = join(path, 'runc');
    this.exits = join(path, 'exits');
    this.temporary = join(path, 'tmp');
  }

  /** Makes the directories, for root only. Once, at the start of the daemon. */
  prepare(): void {
    // A launch of another daemon is not resumed, and so its console socket is not needed.
    rmSync(this.temporary, { recursive: true, force: true });
    this.ensure();
  }

  /** Makes directories that are missing: what cleans /run or /tmp may have taken them, with containers that run on. */
  ensure(): void {
    for (const path of [this.containers, this.runc, this.exits, this.temporary]) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
    }
  }

  bundle(id: string): Bundle {
    return new Bundle(join(this.containers, id));
  }

  state(id: string): string {
    return join(this.runc, id);
  }
}

/** The files of one container or exec session. */
export class Bundle {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get config(): string {
    return join(this.path, 'config.json');
  }
  /** How it was launched (`LaunchRecord`). */
  get launch(): string {
    return join(this.path, 'launch.json');
  }
  /** Number of the init process, by runc. Removed when the exit has been taken note of. */
  get pidFile(): string {
    return join(this.path, 'pid');
  }
  /** The init of a container of another runtime than runc. */
  get init(): string {
    return join(this.path, 'init.json');
  }
  /** Empty file of a container of another runtime than runc that was let run. */
  get begun(): string {
    return join(this.path, 'begun');
  }
  get monitorPidFile(): string {
    return join(this.path, 'monitor.pid');
  }
  /** conmon's packet socket. */
  get attach(): string {
    return join(this.path, 'attach');
  }
  /** conmon's control FIFO. */
  get control(): string {
    return join(this.path, 'ctl');
  }
  /** Empty file, made by conmon in its working directory when the kernel told it of an OOM kill. */
  get oom(): string {
    return join(this.path, 'oom');
  }
  /** Empty file of an exec session that is to end with the daemon that started it. */
  get endsWithDaemon(): string {
    return join(this.path, 'ends-with-daemon');
  }
  /** Old limits, while an update of them is neither in the database nor undone. */
  get limitsMarker(): string {
    return join(this.path, 'limits.json');
  }
  /** Sessions that have files. */
  execIds(): string[] {
    const directory = join(this.path, 'exec');
    return existsSync(directory) ? readdirSync(directory) : [];
  }
  exec(execId: string): Bundle {
    return new Bundle(join(this.path, 'exec', execId));
  }
}
