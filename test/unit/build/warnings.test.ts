import { expect, test } from 'vitest';
import { statusResponse } from '../../../api/buildkit/proto/control.ts';
import { updateMessage } from '../../../api/buildkit/services/updates.ts';
import type { Definition } from '../../../daemon/build/control/definition.ts';
import { StatusLog } from '../../../daemon/build/control/status-log.ts';
import { tellWarnings } from '../../../daemon/build/control/tell-warnings.ts';
import type { LintWarning } from '../../../daemon/build/frontend/lint/linter.ts';

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
        lines: [{ from: 2, to: 3 }],
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

test('a Dockerfile that is read for several platforms tells each warning once', async () => {
  const definition = { name: 'Dockerfile', text: 'FROM a', vertex: 'sha256:v' } as Definition; // All that is read.
  const rule = { name: 'Rule', description: 'why', url: '' } as LintWarning['rule']; // Likewise.
  const warning = (line: number): LintWarning => ({ rule, detail: 'what', lines: { from: line, to: line } });
  const log = new StatusLog();
  tellWarnings({ log }, definition, [warning(1)]);
  tellWarnings({ log }, definition, [warning(1), warning(2)]);
  log.end();
  const told: string[] = [];
  for await (const { warnings } of log.read(new AbortController().signal)) {
    told.push(...warnings.map(({ short }) => short));
  }
  expect(told).toEqual(['Rule: what (line 1)', 'Rule: what (line 2)']);
});
