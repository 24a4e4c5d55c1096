import type { Deployments } from '../../hub/deployments/deployments.ts';
import type { AuditTrail } from '../../hub/audit/audit-trail.ts';
import type { WorkflowTokens } from '../../hub/identity/workflow/workflow-tokens.ts';

/** What the engine of this host asks of its hub. */
export interface EngineHub {
  workflowTokens: Pick<WorkflowTokens, 'plan' | 'mint' | 'revoke' | 'tasks'>;
  deployments: Pick<Deployments, 'tell'>;
  audit: Pick<AuditTrail, 'add'>;
}
