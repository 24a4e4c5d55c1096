import { expect, test } from 'vitest';
import { VertexProgress } from '../../../daemon/build/control/vertex-progress.ts';
import { Vertices } from '../../../daemon/build/control/vertices.ts';
import type { Vertex } from '../../../daemon/build/graph/op.ts';
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

test('what a client hands back of a build is no step, and is told only where it fails', () => {
  const name = 'berth-result://id';
  const result: Vertex = { op: { kind: 'held', id: 'id' }, inputs: [], name };
  const step: Vertex = { op: { kind: 'files', actions: [] }, inputs: [result], name: 'a step' };
  const shown = (fails: boolean): string[] => {
    const vertices = new Vertices(new ManualClock());
    const progress = new VertexProgress(vertices, [step]);
    progress.started(result);
    if (fails) {
      progress.completed(result, 'it is gone');
    } else {
      progress.cached(result);
      progress.started(step);
      progress.completed(step);
    }
    const told = vertices.log.updates.flatMap(({ vertexes }) => vertexes.map((one) => one.name));
    return [...new Set(told)];
  };
  expect(shown(false)).toEqual(['a step']);
  expect(shown(true)).toEqual(['a step', name]);
});
