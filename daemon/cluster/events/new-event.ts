import { randomBytes, randomUUID } from 'node:crypto';
import type { ClusterEvent, ObjectMeta } from '../../../api/types/cluster/events.ts';

/** Kubernetes: no vowels and no letters that look like others, so that no words come about. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const GENERATED_BASE_MAX = 58;

/** A new event with what the server gives it. */
export function created(event: ClusterEvent, now: string): ClusterEvent {
  const { metadata } = event;
  const {
    name = metadata.generateName === undefined ? undefined : generatedName(metadata.generateName),
    resourceVersion: _,
    generation: __,
    selfLink: ___,
    deletionTimestamp: ____,
    deletionGracePeriodSeconds: _____,
    ...rest
  } = withoutEmpty(metadata);
  return {
    ...event,
    metadata: { ...(name !== undefined && { name }), ...rest, uid: randomUUID(), creationTimestamp: now },
  };
}

/** What a change of an event leaves as it is. */
export function continued(event: ClusterEvent, { metadata: before }: ClusterEvent): ClusterEvent {
  const { uid, creationTimestamp, generateName, deletionTimestamp, managedFields } = before;
  const { metadata } = event;
  // An empty list takes all owners away (Kubernetes).
  const isReset = metadata.managedFields !== undefined && isEmptyList(metadata.managedFields);
  const { managedFields: _, resourceVersion: __, selfLink: ___, deletionTimestamp: ____, ...rest } = metadata;
  return {
    ...event,
    metadata: {
      ...rest,
      ...(generateName !== undefined && { generateName }),
      ...(uid !== undefined && { uid }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(managedFields !== undefined && !isReset && { managedFields }),
    },
  };
}

/** RFC 3339 in seconds, as all times of metadata. */
export function seconds(nano: bigint): string {
  return `${new Date(Number(nano / 1_000_000n)).toISOString().slice(0, 19)}Z`;
}

function isEmptyList(managedFields: NonNullable<ObjectMeta['managedFields']>): boolean {
  return managedFields.every((entry) => Object.keys(entry).length === 0);
}

function withoutEmpty(metadata: ObjectMeta): ObjectMeta {
  const { name, generateName, ...rest } = metadata;
  return {
    ...rest,
    ...(name !== undefined && name !== '' && { name }),
    ...(generateName !== undefined && generateName !== '' && { generateName }),
  };
}

function generatedName(base: string): string {
  const suffix = Array.from(randomBytes(SUFFIX_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
  return base.slice(0, GENERATED_BASE_MAX) + suffix;
}
