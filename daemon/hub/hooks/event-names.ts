/** All events. */
export const EVERY_EVENT = '*';

/** What happens in this hub. `ping` and `meta` go to the hook itself, whether it asked for them or not. */
const OWN = [
  'create',
  'delete',
  'deployment',
  'deployment_status',
  'meta',
  'note',
  'package',
  'ping',
  'pull',
  'push',
  'registry_package',
  'repository',
];

/**
 * What happens to repositories of git alone (GitHub: webhook events). A hook may name them, as in the published
 * examples; here they never come.
 */
const OF_GIT =
  'branch_protection_configuration branch_protection_rule check_run check_suite code_scanning_alert ' +
  'commit_comment custom_property_values dependabot_alert deploy_key deployment_protection_rule ' +
  'deployment_review discussion discussion_comment fork gollum issue_comment issues label member membership ' +
  'merge_group milestone org_block organization page_build project project_card project_column projects_v2_item ' +
  'public pull_request pull_request_review pull_request_review_comment pull_request_review_thread release ' +
  'repository_advisory repository_dispatch repository_import repository_ruleset ' +
  'repository_vulnerability_alert secret_scanning_alert secret_scanning_alert_location secret_scanning_scan ' +
  'security_and_analysis star status sub_issues team team_add watch workflow_dispatch workflow_job workflow_run';

const KNOWN = new Set([EVERY_EVENT, ...OWN, ...OF_GIT.split(' ')]);

export function isEventName(name: string): boolean {
  return KNOWN.has(name);
}

export function isSubscribed(events: readonly string[], event: string): boolean {
  return events.includes(EVERY_EVENT) || events.includes(event);
}

/** Whether one event goes to both. */
export function overlap(one: readonly string[], other: readonly string[]): boolean {
  return (
    one.includes(EVERY_EVENT) || other.includes(EVERY_EVENT) || one.some((event) => other.includes(event))
  );
}
