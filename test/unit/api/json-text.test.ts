import { expect, test } from 'vitest';
import { jsonLineOf } from '../../../api/pipeline/json-text.ts';
import { CHANGES } from '../../../api/versions/changes/index.ts';
import { Dialects } from '../../../api/versions/dialect.ts';
import { NEWEST } from '../../../api/versions/version.ts';
import { CONTAINER } from '../../support/api/fake-ports.ts';

const dialects = new Dialects(CHANGES, { cgroupVersion: 2 });

test('jsonLineOf: a frozen body is put into JSON once for each version, another one each time', () => {
  const [newest, older] = [dialects.of(NEWEST, 'container.inspect'), dialects.of(24, 'container.inspect')];
  const body = Object.freeze({ ...CONTAINER, Name: '/größe' });
  const first = jsonLineOf(body, undefined, newest);
  expect(first.text).toBe(`${JSON.stringify(body)}\n`);
  expect(first.bytes).toBe(String(Buffer.byteLength(first.text)));
  expect(jsonLineOf(body, undefined, newest)).toBe(first);
  expect(jsonLineOf(body, undefined, older).text).toBe(`${JSON.stringify(older.downgrade(body))}\n`);
  expect(jsonLineOf(body, undefined, older)).toBe(jsonLineOf(body, undefined, older));

  const changing = { Name: 'a' };
  expect(jsonLineOf(changing, undefined, newest).text).toBe('{"Name":"a"}\n');
  changing.Name = 'b';
  expect(jsonLineOf(changing, undefined, newest).text).toBe('{"Name":"b"}\n');
});
