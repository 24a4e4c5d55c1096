import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Addresses } from '../../views/addresses.ts';
import { nodeId } from '../../views/node-id.ts';
import { timeText } from '../../views/times.ts';
import { origin, senderView, type Payload } from './common.ts';

type DeploymentOccurrence = Extract<Occurrence, { kind: 'deployment' | 'deployment-status' }>;

/** GitHub's `deployment` and `deployment_status`: an image of the repository goes to a service. */
export function deploymentPayload(occurrence: DeploymentOccurrence, addresses: Addresses): Payload {
  const { repository, actor, deployment, atMs } = occurrence;
  const repositoryUrl = `${addresses.base}/repos/${repository.owner.name}/${repository.name}`;
  const url = `${repositoryUrl}/deployments/${deployment.id}`;
  const common = {
    environment: deployment.service,
    creator: senderView(actor, addresses),
    repository_url: repositoryUrl,
    updated_at: timeText(atMs),
  };
  return {
    action: 'created',
    deployment: {
      ...common,
      id: deployment.id,
      node_id: nodeId('Deployment', deployment.id),
      url,
      statuses_url: `${url}/statuses`,
      sha: deployment.digest,
      ref: deployment.tag ?? deployment.digest,
      task: 'deploy',
      payload: {},
      original_environment: deployment.service,
      description: null,
      created_at: timeText(deployment.createdMs),
    },
    ...(occurrence.kind === 'deployment-status'
      ? { deployment_status: { ...statusView(occurrence, url), ...common } }
      : { workflow: null, workflow_run: null }),
    ...origin(repository, actor, addresses),
  };
}

function statusView(
  { status: { id, state, description }, atMs }: Extract<Occurrence, { kind: 'deployment-status' }>,
  url: string,
) {
  return {
    id,
    node_id: nodeId('DeploymentStatus', id),
    url: `${url}/statuses/${id}`,
    deployment_url: url,
    state,
    description,
    target_url: '',
    created_at: timeText(atMs),
  };
}
