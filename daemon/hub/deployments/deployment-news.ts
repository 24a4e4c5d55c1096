import type { Deployment, DeploymentState } from '../occurrences/occurrence.ts';

/** A service of the engine that runs an image of a repository, as its leader tells it. */
export interface ServiceImage {
  /** Id of the service. */
  service: string;
  name: string;
  owner: string;
  repository: string;
  tag: string | null;
  /** Null = by its tag alone. */
  digest: string | null;
  /** What the service was told to run: another one is another deployment. */
  template: number;
  isRollback: boolean;
  state: Exclude<DeploymentState, 'error' | 'inactive'>;
  message: string;
}

/** What is known of a service's deployment. Records `deployment/<id of the service>`. */
export interface KnownDeployment {
  repository: number;
  deployment: Deployment;
  template: number;
  state: DeploymentState;
}

export interface StatusNews {
  of: KnownDeployment;
  state: DeploymentState;
  description: string;
}

/** What is to be told of a service. */
export interface DeploymentNews {
  /** Of the deployment that another one takes the place of, or that is over. */
  last?: StatusNews;
  /** It runs something new. */
  isNew: boolean;
  /** How far that is; undefined = as was told. */
  state?: DeploymentState;
}

/**
 * Decides what is new of a service. Pure. `now`: undefined = the service is gone, or runs no image of a repository.
 * What has succeeded stays so, whatever becomes of its tasks later.
 */
export function newsOf(
  known: KnownDeployment | undefined,
  now: Pick<ServiceImage, 'template' | 'isRollback' | 'state' | 'message'> | undefined,
): DeploymentNews {
  const isNew = now !== undefined && now.template !== known?.template;
  if (now === undefined || isNew) {
    const last = known && lastOf(known, now);
    return { isNew, ...(last && { last }), ...(now && { state: now.state }) };
  }
  const isSettled = known?.state === 'success' || now.state === known?.state;
  const isBack = now.state === 'pending' && known?.state !== 'pending';
  return { isNew, ...(!isSettled && !isBack && { state: now.state }) };
}

/** How a deployment ends: it was rolled back before it had succeeded, or there is another one, or none. */
function lastOf(
  known: KnownDeployment,
  now: Pick<ServiceImage, 'isRollback' | 'message'> | undefined,
): StatusNews | undefined {
  if (now?.isRollback === true && known.state !== 'success') {
    return known.state === 'failure'
      ? undefined
      : { of: known, state: 'failure', description: now.message || 'rolled back' };
  }
  return { of: known, state: 'inactive', description: '' };
}
