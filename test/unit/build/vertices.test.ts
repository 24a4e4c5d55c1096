import { expect, test } from 'vitest';
import { Vertices } from '../../../daemon/build/control/vertices.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

test('at the end of a build what was under way is canceled, and what had not started stays untold', () => {
  const vertices = new Vertices(new ManualClock());
  const [failed, running, waiting] = ['failed', 'running', 'waiting'].map((name) => vertices.begin(name));
  failed?.start();
  running?.start();
  failed?.fail('exit code: 1');
  vertices.end();
  const told = new Map(
    vertices.log.updates.flatMap(({ vertexes }) => vertexes.map((one) => [one.digest, one])),
  );
  const errors = [failed, running, waiting].map((vertex) => {
    const { error, started, completed } = told.get(vertex?.digest ?? '') ?? {};
    return [error, started !== undefined, completed !== undefined];
  });
  expect(errors).toEqual([
    ['exit code: 1', true, true],
    ['context canceled', true, true],
    ['', false, false],
  ]);
});
