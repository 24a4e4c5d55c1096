import { describe, expect, test } from 'vitest';
import { failedPrecondition } from '../../../daemon/base/errors.ts';
import { AssignmentParts } from '../../../swarm/protocol/assignment-parts.ts';
import { leaderIn, notLeader } from '../../../swarm/protocol/not-leader.ts';
import type { AssignedData, Assignments } from '../../../swarm/protocol/session.ts';

const part = (secret: string, more?: true): Assignments => ({
  full: true,
  ...(more === undefined ? {} : { more }),
  tasks: [],
  removedTasks: [],
  secrets: [{ id: secret, name: '', data: '', isTemplate: false } satisfies AssignedData],
  removedSecrets: [],
  configs: [],
  removedConfigs: [],
});

describe('what nodes and managers tell each other', () => {
  test('assignments that came in parts are one again, and only then', () => {
    const parts = new AssignmentParts();
    expect([parts.take(part('a', true)), parts.take(part('b', true))]).toEqual([undefined, undefined]);
    expect(parts.take(part('c'))?.secrets.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(parts.take(part('d'))).toEqual(part('d'));
  });

  test('a manager that does not lead says who does', () => {
    expect(leaderIn(notLeader('10.0.0.1:2377'))).toBe('10.0.0.1:2377');
    expect(leaderIn(notLeader(undefined))).toBeUndefined();
    expect(leaderIn(failedPrecondition('session invalid'))).toBeUndefined();
    expect(leaderIn(new Error('x'))).toBeUndefined();
  });
});
