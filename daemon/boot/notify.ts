import { errorText } from '../base/errors.ts';
import { sendUnixDatagram } from '../base/kernel/sockets/unix-datagram.ts';
import type { Logger } from '../base/logger.ts';

/** Where and how often this process reports to systemd (sd_notify(3), sd_watchdog_enabled(3)). */
export interface NotifySettings {
  /** Path or `@abstract` name; null = no listener. */
  socket: string | null;
  /** Silence after which systemd kills; null = it does not watch. */
  watchdogMs: number | null;
}

/** Reads the environment that systemd sets. Pure. Settings meant for another process are ignored. */
export function readNotifySettings(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): NotifySettings {
  const socket = environment['NOTIFY_SOCKET'];
  const usec = Number(environment['WATCHDOG_USEC'] ?? 0);
  const watchdogPid = environment['WATCHDOG_PID'];
  const watches = usec > 0 && (watchdogPid === undefined || Number(watchdogPid) === pid);
  return {
    // vsock and others are for virtual machines.
    socket: socket !== undefined && /^[/@]./.test(socket) ? socket : null,
    watchdogMs: watches ? usec / 1000 : null,
  };
}

/** Removes the variables, so that no child process can notify systemd in the daemon's name. */
export function forgetNotifySettings(environment: NodeJS.ProcessEnv): void {
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) {
    delete environment[name];
  }
}

/** Tells systemd how the daemon is doing. Without systemd every method does nothing. */
export class Notifier implements Disposable {
  readonly #settings: NotifySettings;
  readonly #log: Logger;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(deps: { settings: NotifySettings; log: Logger }) {
    this.#settings = deps.settings;
    this.#log = deps.log;
  }

  /** The API answers. From now on the event loop shows that it turns, at twice the pace asked for. */
  ready(): void {
    this.#send(`READY=1\nMAINPID=${process.pid}`);
    const { watchdogMs } = this.#settings;
    if (watchdogMs !== null && this.#watchdog === undefined) {
      this.#watchdog = setInterval(() => this.#send('WATCHDOG=1'), Math.max(watchdogMs / 2, 1));
      this.#watchdog.unref();
    }
  }

  /** The configuration is being read again; `ready` when that is done. */
  reloading(): void {
    // The time is what Type=notify-reload asks for (systemd 253).
    this.#send(`RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
  }

  stopping(): void {
    this.#send('STOPPING=1');
  }

  [Symbol.dispose](): void {
    clearInterval(this.#watchdog);
    this.#watchdog = undefined;
  }

  #send(state: string): void {
    if (this.#settings.socket === null) {
      return;
    }
    try {
      sendUnixDatagram(this.#settings.socket, Buffer.from(state));
    } catch (error) {
      // systemd restarts the daemon when it gets no reports; nothing here depends on this one.
      this.#log.warn({ state, reason: errorText(error) }, 'could not notify systemd');
    }
  }
}
