import type { ImageSource } from '../graph/op.ts';
import type { ImageFacts } from '../ports.ts';
import type { RunContext } from '../solver/ports.ts';
import { sessionOf, type OpDeps } from './ports.ts';

/** An image, pulled with the credentials of the client where it has to be. */
export async function findImage(
  { layers, sessions }: Pick<OpDeps, 'layers' | 'sessions'>,
  {
    reference,
    platform,
    mode,
    layerLimit,
  }: Pick<ImageSource, 'reference' | 'platform' | 'mode' | 'layerLimit'>,
  context: Omit<RunContext, 'used'>,
): Promise<ImageFacts> {
  const { signal } = context;
  const found = await layers.image(
    { reference, platform, mode },
    {
      signal,
      auth: async (domain) => {
        const session = await sessionOf(sessions, context.sessions(), signal);
        return await session.credentials(hostOf(domain), signal);
      },
      told: ({ id = '', status = '', progressDetail }) => {
        const { current, total } = progressDetail ?? {};
        if (current !== undefined) {
          const name = [id, status].filter((word) => word !== '').join(' ');
          context.work({ name, current, ...(total !== undefined && { total }), isDone: current === total });
        }
      },
    },
  );
  if (layerLimit === undefined || layerLimit >= found.layerIds.length) {
    return found;
  }
  using _all = found.pin;
  return { ...found, ...layers.pin(found.layerIds.slice(0, layerLimit)) };
}

/** Clients keep the credentials of Docker's own registry by another name. */
function hostOf(domain: string): string {
  return domain === 'docker.io' ? 'registry-1.docker.io' : domain;
}
