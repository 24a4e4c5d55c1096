import { isEngineError } from '../../base/errors.ts';
import { serviceOf } from '../hooks/hook-problems.ts';
import { answered } from './outcome.ts';
import type { Sent } from './sender.ts';

/** The services of the engine, for hooks to `engine://services/NAME`. */
export interface ServicesPort {
  /**
   * Has a service run an image by its digest. Answers what was done. Throws not_found without such a service,
   * conflict where it runs no image of the repository with this tag: who may push to a repository has no say over
   * other services.
   */
  redeploy(image: PushedImage & { service: string }): Promise<string>;
}

export interface PushedImage {
  /** `owner/name`. */
  repository: string;
  tag: string;
  digest: string;
}

/** Delivers to the engine itself. Pushes of tags redeploy the service, all else does nothing. Never rejects. */
export async function sendToService(
  services: ServicesPort | undefined,
  url: URL,
  event: string,
  payload: string,
): Promise<Sent> {
  const image = event === 'push' ? pushedImage(JSON.parse(payload)) : undefined;
  const service = serviceOf(url) ?? '';
  try {
    if (services === undefined) {
      return answer(501, 'this engine has no services for hooks');
    }
    return answer(
      200,
      image === undefined ? 'nothing to do' : await services.redeploy({ ...image, service }),
    );
  } catch (error) {
    const code = isEngineError(error, 'not_found') ? 404 : isEngineError(error, 'conflict') ? 409 : 500;
    return answer(code, error instanceof Error ? error.message : 'failed');
  }
}

function answer(code: number, message: string): Sent {
  return { outcome: answered(code), response: { headers: {}, payload: JSON.stringify({ message }) } };
}

/** Of a payload of `push`; undefined = no tag was put. */
function pushedImage(payload: unknown): PushedImage | undefined {
  // Made by this hub (payloads/tag.ts), now or when it was first delivered.
  const { ref, after, deleted, repository } = payload as {
    ref: string;
    after: string;
    deleted: boolean;
    repository: { full_name: string };
  };
  return deleted
    ? undefined
    : { repository: repository.full_name, tag: ref.replace('refs/tags/', ''), digest: after };
}
