import type { MessagePort } from 'node:worker_threads';
import { errorText, internal } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { packMembers, unpackMembers, type PackedMembers } from '../../tar/packed-members.ts';
import type { TarMember } from '../../tar/parser.ts';
import type { ApplyControl } from '../apply-request.ts';
import { FileRuns } from './file-runs.ts';
import { makeFiles, type FilesToMake } from './make-files.ts';

/** What the helper is told. */
interface Asked extends Omit<FilesToMake, 'runs'> {
  files: PackedMembers;
  taken: SharedArrayBuffer;
}

/** What it answers. */
type Helped = { warnings: string[] } | { failed: string };

/** A second thread that makes files of a layer, as the one that composes it sees it. */
export class Helper implements Disposable {
  readonly #port: MessagePort;
  #answer: Promise<Helped | undefined> | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** From now on it takes runs. */
  begin(files: readonly TarMember[], { runs, ...where }: FilesToMake): void {
    this.#answer = next<Helped>(this.#port);
    const asked: Asked = { ...where, files: packMembers(files), taken: runs.memory };
    this.#port.postMessage(asked, []);
  }

  /** When all that it has taken is made: what was lost of it. Rejects where it failed. */
  async ended(): Promise<string[]> {
    const answer = (await this.#answer) ?? { failed: 'its thread has ended' };
    if ('failed' in answer) {
      throw internal(`a helper that makes files: ${answer.failed}`);
    }
    return answer.warnings;
  }

  /** One that was not begun ends, too. */
  [Symbol.dispose](): void {
    this.#port.close();
  }
}

/** The other side: resolves when there is nothing to do any more. */
export async function help(port: MessagePort, control: ApplyControl): Promise<void> {
  const asked = await next<Asked>(port);
  if (asked === undefined) {
    return;
  }
  const { files, taken, ...where } = asked;
  const runs = new FileRuns(unpackMembers(files), taken);
  port.postMessage(
    tried(() => makeFiles({ ...where, runs }, control)),
    [],
  );
  port.close();
}

function tried(work: () => string[]): Helped {
  try {
    failpoint('images.build.help');
    return { warnings: work() };
  } catch (error) {
    return { failed: errorText(error) };
  }
}

/** Undefined: the other side has gone. */
function next<T>(port: MessagePort): Promise<T | undefined> {
  return new Promise((resolve) => {
    port.once('message', resolve);
    port.once('close', () => resolve(undefined));
  });
}
