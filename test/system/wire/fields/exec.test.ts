import { expect, test } from 'vitest';
import { describeEngine } from '../../../support/engine/engine.ts';
import { execRows } from './rows/exec.ts';
import { titleOf } from './table.ts';

describeEngine('fields of exec', (engine) => {
  test.each(execRows.map((row) => [titleOf(row), row] as const))('%s', async (_title, row) => {
    const container = await engine.start(['sleep', '1000'], {}, { Env: ['A=create', 'B=create'] });
    const { Id: id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${container}/exec`, row.ask);
    const path = `/exec/${id}/start`;
    const session = { engine, container, id };
    if (row.start?.Detach === true) {
      await engine.http.ok('POST', path, row.start);
      expect(await row.observe({ ...session, stream: undefined })).toEqual(row.expected);
      return;
    }
    const stream = await engine.http.hijack(path, { body: { Detach: false, ...row.start } });
    expect(await row.observe({ ...session, stream })).toEqual(row.expected);
  });
});
