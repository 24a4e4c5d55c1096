import { expect, test } from 'vitest';
import { statusResponse } from '../../../api/buildkit/proto/control.ts';
import { updateMessage } from '../../../api/buildkit/services/updates.ts';

test('a warning is a message of level 1, each of its lines a range', () => {
  const message = updateMessage({
    vertexes: [],
    statuses: [],
    logs: [],
    warnings: [
      {
        vertex: 'sha256:v',
        short: 'Rule: what (line 2)',
        detail: 'why',
        url: 'https://page',
        source: { filename: 'Dockerfile', data: 'FROM a' },
        lines: { from: 2, to: 3 },
      },
    ],
  });
  expect(statusResponse.decode(statusResponse.encode(message)).warnings).toEqual([
    {
      vertex: 'sha256:v',
      level: 1,
      short: Buffer.from('Rule: what (line 2)'),
      detail: [Buffer.from('why')],
      url: 'https://page',
      info: { filename: 'Dockerfile', data: Buffer.from('FROM a'), language: 'Dockerfile' },
      ranges: [2, 3].map((line) => ({ start: { line, character: 0 }, end: { line, character: 0 } })),
    },
  ]);
});
