import { showUrl } from '../../../storage/downloads/download.ts';
import { progressBar } from '../progress.ts';
import { EngineError, invalidArgument, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DownloadedFile } from './ports.ts';
import type { BuildProgress } from './progress.ts';
import type { Build } from './state.ts';

const PROGRESS_MS = 200;

/**
 * Gets what ADD names by URL. Throws invalid_argument when it has no name and `target` needs one, and what is thrown
 * where it is got, in the words of this door. A client that has to wait is told which server it waits for.
 */
export async function downloadFile(
  { files, progress, signal }: Build,
  text: string,
  target: string,
): Promise<DownloadedFile> {
  if (!URL.canParse(text)) {
    throw invalidArgument(`ADD failed: ${text} is no URL`);
  }
  const url = new URL(text);
  const waits = setTimeout(() => progress.send({ status: `Waiting for ${url.host}` }), limits.waitingToldMs);
  const named = (name: string): void => {
    clearTimeout(waits);
    if (name === '' && target.endsWith('/')) {
      throw invalidArgument(`cannot determine filename for source ${showUrl(url)}`);
    }
  };
  try {
    const file = await files.download(url, { signal, named, came: teller(progress) });
    progress.say('\n');
    return file;
  } catch (error) {
    throw isEngineError(error) && error.code !== 'canceled'
      ? new EngineError(error.code, `ADD failed: ${error.message}`, { cause: error, details: error.details })
      : error;
  } finally {
    clearTimeout(waits);
  }
}

function teller(progress: BuildProgress): (current: number, total: number | undefined) => void {
  let next = 0;
  return (current, total) => {
    const now = performance.now();
    if (now < next && current !== total) {
      return;
    }
    next = now + PROGRESS_MS;
    progress.send({
      status: 'Downloading',
      progressDetail: { current, ...(total !== undefined && { total }) },
      ...(total !== undefined && { progress: progressBar(current, total) }),
    });
  };
}
