import type { ClusterEvent } from '../../../api/types/cluster/events.ts';

/** An event that breaks no rule. */
export function anEvent(name: string, more: Partial<ClusterEvent> = {}): ClusterEvent {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name },
    eventTime: '2026-11-25T10:00:00.123456Z',
    type: 'Normal',
    reason: 'Started',
    action: 'Start',
    note: 'a container was started',
    reportingController: 'example.com/deployer',
    reportingInstance: 'host-1',
    regarding: { kind: 'Container', name: 'web', namespace: 'default' },
    ...more,
  };
}
