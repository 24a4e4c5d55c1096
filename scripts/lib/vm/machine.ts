import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseImage } from './image.ts';

export interface CommandResult {
  exitCode: number | null;
  output: string;
}

export interface MachineOptions {
  image: BaseImage;
  /** Raw disk, mounted at GUEST_REPOSITORY; what the guest writes there is forgotten at its end. */
  repositoryDisk: string;
  /** Scratch: disk, console, sockets. */
  folder: string;
  memoryMb: number;
  cpus: number;
}

/** Emulated on a busy machine: a boot that takes longer hangs. */
const BOOT_MS = 900_000;

/**
 * One virtual machine whose disk outlives its power. Talks to it by ssh over qemu's user-mode network, of which this
 * host sees one port on its loopback address; the guest reaches nothing (restrict=on).
 *
 * Power cuts. The disk is a qcow2 file over the base image with cache=writeback: the guest sees a disk with a volatile
 * cache and flushes it where a program calls fsync. `cutPower` is SIGKILL of qemu. What the guest has flushed is on the
 * host's file; its own page cache, and writes to new clusters whose place in the qcow2 tables qemu had not written yet,
 * are lost, as in a disk whose cache forgets.
 */
export class Machine {
  readonly #options: MachineOptions;
  readonly #disk: string;
  readonly accelerator: 'kvm' | 'tcg';
  #qemu: ChildProcess | undefined;
  #port = 0;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#disk = path.join(options.folder, 'disk.qcow2');
    this.accelerator = accelerator();
    execFileSync('qemu-img', [
      'create',
      '-q',
      '-f',
      'qcow2',
      '-F',
      'raw',
      '-b',
      options.image.disk,
      this.#disk,
    ]);
  }

  get #console(): string {
    return path.join(this.#options.folder, 'console.log');
  }

  get pid(): number | undefined {
    return this.#qemu?.pid;
  }

  /** The command for a shell in the guest, to print. */
  get loginCommand(): string {
    return ['ssh', ...this.#sshOptions(), 'root@127.0.0.1'].join(' ');
  }

  consoleText(): string {
    return existsSync(this.#console) ? readFileSync(this.#console, 'utf8') : '';
  }

  /** Switches it on; resolves when its root can log in. Throws with the end of its console. */
  async boot(): Promise<void> {
    this.#port = await freePort();
    const log = openSync(path.join(this.#options.folder, 'qemu.log'), 'a');
    this.#qemu = spawn('qemu-system-x86_64', this.#arguments(), {
      stdio: ['ignore', log, log],
      // A session of its own: Ctrl-C ends this program, which then ends the machine.
      detached: true,
    });
    const deadline = performance.now() + BOOT_MS;
    for (;;) {
      if (!this.isOn()) {
        throw new Error(`qemu ended:\n${readFileSync(path.join(this.#options.folder, 'qemu.log'), 'utf8')}`);
      }
      if ((await this.run('systemctl is-system-running --wait')).exitCode !== 255) {
        return;
      }
      if (performance.now() > deadline) {
        throw new Error(`no login after ${BOOT_MS} ms:\n${this.consoleText().slice(-3000)}`);
      }
      await sleep(1000);
    }
  }

  isOn(): boolean {
    return this.#qemu !== undefined && this.#qemu.exitCode === null && this.#qemu.signalCode === null;
  }

  /** Runs a shell command as the guest's root; `onLine` sees its output as it comes. 255 = no connection. */
  run(
    command: string,
    options: { onLine?: (line: string) => void; timeoutMs?: number } = {},
  ): Promise<CommandResult> {
    const child = spawn('ssh', [...this.#sshOptions(), 'root@127.0.0.1', command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? BOOT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output += `${line}\n`;
        options.onLine?.(line);
      });
    }
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode) => resolve({ exitCode, output }));
    });
  }

  /** Writes a file of the guest. */
  async write(file: string, text: string): Promise<void> {
    const encoded = Buffer.from(text).toString('base64');
    const { exitCode, output } = await this.run(`base64 --decode >${file} <<'END'\n${encoded}\nEND`);
    if (exitCode !== 0) {
      throw new Error(`cannot write ${file} in the guest: ${output}`);
    }
  }

  /** SIGKILL of the machine, at any moment. */
  async cutPower(): Promise<void> {
    await this.#untilOff((qemu) => qemu.kill('SIGKILL'));
  }

  /** As its administrator does it: services are stopped first. qemu ends where a machine would start anew. */
  async reboot(): Promise<void> {
    await this.#untilOff(() => this.run('systemctl reboot'));
    await this.boot();
  }

  /** Resolves when qemu has ended, at once where it does not run. */
  async #untilOff(end: (qemu: ChildProcess) => unknown): Promise<void> {
    const qemu = this.#qemu;
    if (qemu === undefined || !this.isOn()) {
      return;
    }
    const ended = new Promise<void>((resolve) => {
      qemu.once('exit', () => resolve());
    });
    await end(qemu);
    await ended;
  }

  /** Lets it run on after this process. */
  leave(): Promise<void> {
    this.#qemu?.unref();
    return Promise.resolve();
  }

  /** Ends it and removes its disk. */
  async dispose(): Promise<void> {
    await this.cutPower();
    rmSync(this.#options.folder, { recursive: true, force: true });
  }

  #arguments(): string[] {
    const { image, repositoryDisk, memoryMb, cpus } = this.#options;
    const options: Record<string, string> = {
      accel: this.accelerator === 'tcg' ? 'tcg,thread=multi' : 'kvm',
      // Emulated by qemu 7.2 the instruction of cx16 spoils the flags, and Linux 6.12 ends in a double fault.
      cpu: this.accelerator === 'tcg' ? 'max,-cx16' : 'max',
      m: String(memoryMb),
      smp: String(cpus),
      display: 'none',
      serial: `file:${this.#console}`,
      kernel: image.kernel,
      initrd: image.initrd,
      append: 'root=/dev/vda rw console=ttyS0 panic=1',
      netdev: `user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:${this.#port}-:22`,
    };
    const drives = [
      `file=${this.#disk},format=qcow2,if=virtio,cache=writeback`,
      `file=${repositoryDisk},format=raw,if=virtio,snapshot=on`,
    ];
    return [
      '-nodefaults',
      '-no-user-config',
      '-no-reboot',
      ...Object.entries(options).flatMap(([name, value]) => [`-${name}`, value]),
      ...drives.flatMap((drive) => ['-drive', drive]),
      ...['virtio-net-pci,netdev=net', 'virtio-rng-pci'].flatMap((device) => ['-device', device]),
    ];
  }

  #sshOptions(): string[] {
    const options = {
      BatchMode: 'yes',
      StrictHostKeyChecking: 'no',
      UserKnownHostsFile: '/dev/null',
      LogLevel: 'ERROR',
      IdentitiesOnly: 'yes',
      // A busy emulated guest takes its time with a handshake.
      ConnectTimeout: '60',
      ServerAliveInterval: '5',
      ServerAliveCountMax: '24',
    };
    return [
      '-F',
      'none',
      '-i',
      this.#options.image.key,
      '-p',
      String(this.#port),
      ...Object.entries(options).map(([name, value]) => `-o${name}=${value}`),
    ];
  }
}

/**
 * KVM where the processor itself virtualises. A /dev/kvm without that belongs to a nested machine whose own host
 * emulates what its guests do, and gives up on the instructions it does not know.
 */
function accelerator(): 'kvm' | 'tcg' {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return /\b(vmx|svm)\b/.test(readFileSync('/proc/cpuinfo', 'utf8')) ? 'kvm' : 'tcg';
  } catch {
    // No KVM here, or not for us.
    return 'tcg';
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
