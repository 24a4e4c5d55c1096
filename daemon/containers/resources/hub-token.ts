import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { persistently } from '../../base/concurrency/retry.ts';
import { errorText, internal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { HubTokenRequest } from '../../base/hub-token-labels.ts';
import { limits } from '../../base/limits.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { ContainerContext } from '../context.ts';
import type { HiddenFile } from '../request/mounts/hidden-files.ts';
import type { Container } from '../state/container.ts';
import { containerFiles } from './container-files.ts';

/**
 * A container whose labels ask for it has a token of the hub, one for each run: minted by its start, gone with its end.
 * It is a file in memory that nothing shows, as a secret is.
 */

/** Where a container reads its token. */
const TOKEN_PATH = '/run/berth/hub-token';

/** What create adds to the mounts. */
export function hubTokenFile(
  { dataRoot }: Pick<ContainerContext, 'dataRoot'>,
  id: string,
  request: HubTokenRequest | undefined,
): HiddenFile[] {
  return request === undefined ? [] : [{ source: tokenOf(dataRoot, id), target: TOKEN_PATH }];
}

/** Whether a start makes what is mounted: it is not there before. */
export function isMadeAtStart({ dataRoot }: ContainerContext, { id }: Container, source: string): boolean {
  return source === tokenOf(dataRoot, id);
}

/** Mints the token. Throws what the hub says: invalid_argument, unavailable. */
export async function prepareHubToken(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<void> {
  const { mounts, hubTokens, dataRoot } = context;
  const { id, spec } = container;
  if (spec.hubToken === undefined) {
    return;
  }
  rollback.defer('take the hub token back', () =>
    persistently(context.clock, () => releaseHubToken(context, container)),
  );
  failpoint('containers.start.hubtoken');
  const token = await hubTokens.mint(spec.hubToken, id);
  const directory = containerFiles(dataRoot, id).hubToken;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw internal(`make ${directory}: ${errorText(error)}`, { cause: error });
  }
  await mounts.secretTmpfs(directory, { source: 'hub', sizeBytes: limits.hubTokenFileBytes, mode: 0o700 });
  // Read by whatever user the container's processes have; the directory keeps others of the host out.
  writeFileSync(tokenOf(dataRoot, id), token, { mode: 0o444 });
}

/** Takes it away after an exit. */
export async function releaseHubToken(context: ContainerContext, { id, spec }: Container): Promise<void> {
  if (spec.hubToken !== undefined) {
    failpoint('containers.exit.hubtoken');
    await context.hubTokens.revoke(id);
    await context.mounts.unmount(containerFiles(context.dataRoot, id).hubToken);
  }
}

/** The variables that tell a container where its token is, and what it is for. */
export function hubTokenVariables({ hubTokens }: ContainerContext, { spec }: Container): string[] {
  return spec.hubToken === undefined
    ? []
    : [
        `BERTH_HUB_URL=${hubTokens.url}`,
        `BERTH_HUB_REPOSITORY=${spec.hubToken.owner}/${spec.hubToken.repository}`,
        `BERTH_HUB_TOKEN_FILE=${TOKEN_PATH}`,
      ];
}

function tokenOf(dataRoot: string, id: string): string {
  return path.join(containerFiles(dataRoot, id).hubToken, 'token');
}
