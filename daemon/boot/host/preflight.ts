import { accessSync, constants, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { conflict, EngineError, errnoOf } from '../../base/errors.ts';
import { parseHost } from '../config/hosts.ts';
import { usesTls } from '../config/checks.ts';
import type { Config } from '../config/settings.ts';

/** What can be asked of the machine before anything is touched; a test answers for it. */
export interface PreflightHost {
  userId(): number;
  /** True when this absolute path or name on the PATH is a program. */
  isProgram(program: string): boolean;
  /** True when a process answers on this Unix socket. */
  answers(socketPath: string): Promise<boolean>;
}

/**
 * Refuses early what could only fail later and less clearly. Throws EngineError with one line for the administrator.
 * The data root's lock is asked for after this (`lockDataRoot`).
 */
export async function preflight(config: Config, host: PreflightHost): Promise<void> {
  if (host.userId() !== 0) {
    throw new EngineError(
      'forbidden',
      'berthd needs to run as root (containers need mounts, namespaces, cgroups)',
    );
  }
  const runc = config.runtimes['runc']?.path ?? 'runc';
  if (!host.isProgram(runc)) {
    throw missing(runc, 'runc', 'runc');
  }
  if (!host.isProgram('conmon')) {
    throw missing('conmon', 'conmon', 'conmon');
  }
  if (config.initPath !== '' && !host.isProgram(config.initPath)) {
    throw missing(config.initPath, 'init-path', 'tini');
  }
  for (const text of config.hosts) {
    const address = parseHost(text, { tls: usesTls(config) });
    if (address.kind === 'unix' && (await host.answers(address.path))) {
      throw conflict(`${text} is in use: another daemon answers on it`);
    }
  }
}

function missing(program: string, what: string, debianPackage: string): EngineError {
  return new EngineError(
    'unavailable',
    `${what}: ${program} is not there or cannot be executed; on Debian: apt install ${debianPackage}`,
  );
}

/** The machine itself. */
export const realHost: PreflightHost = {
  userId: () => process.geteuid?.() ?? -1,
  isProgram: (program) =>
    program.includes('/')
      ? isExecutable(program)
      : (process.env['PATH'] ?? '').split(':').some((folder) => isExecutable(join(folder, program))),
  answers: (socketPath) =>
    new Promise((resolve) => {
      const socket = connect(socketPath);
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      // Refused or missing: no listener, only a file that a killed daemon left. A full queue has a listener, though.
      socket.once('error', (error) => resolve(errnoOf(error) === 'EAGAIN'));
    }),
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // For any of these reasons it cannot be run.
    return false;
  }
}
