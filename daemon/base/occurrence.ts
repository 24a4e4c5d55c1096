import { createHash } from 'node:crypto';

/**
 * The attribute of events of the engine with the name of what has happened, by which everything that tells of it calls
 * it: webhooks (`X-Svc-Occurrence`), events of the cluster (an annotation) and the audit.
 */
export const OCCURRENCE = 'berth.occurrence';

/** 32 hexadecimal digits, the same wherever and whenever it is asked for. Pure. */
export function occurrenceOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

export function isOccurrence(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{32}$/.test(text);
}

/** What people ask about afterwards has the attribute. Labels of containers and images give it to nothing else. */
export function hasOccurrence(type: string, action: string): boolean {
  return type === 'container'
    ? action === 'die' || action === 'oom' || action.startsWith('health_status')
    : type === 'image' && action === 'push';
}
