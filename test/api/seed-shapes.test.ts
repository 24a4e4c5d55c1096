import { describe, expect, test } from 'vitest';
import { startServer } from '../support/api/api-server.ts';
import { SEED_ANSWERS, SEED_EVENT, compareShape } from '../support/api/seed-shapes.ts';

const names = { container: 'web', exec: 'e', image: 'busybox', volume: 'data', network: 'bridge' };

describe('v1.24 answers', () => {
  test.each(SEED_ANSWERS)('$table: has exactly the fields and types of the document', async (answer) => {
    await using server = await startServer();
    const body = answer.body === undefined ? undefined : JSON.stringify(answer.body);
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const { status, body: text } = await server.request(answer.method, answer.path(names), {
      headers,
      ...(body === undefined ? {} : { body }),
    });
    expect({ status, problems: compareShape(answer.shape, JSON.parse(text)) }).toEqual({
      status: answer.status,
      problems: [],
    });
  });

  test('an event: has exactly the fields and types of the document', async () => {
    await using server = await startServer();
    const { body } = await server.request('GET', '/v1.24/events');
    expect(compareShape(SEED_EVENT, JSON.parse(body))).toEqual([]);
  });
});

test('compareShape: names what is missing, of another type or too many', () => {
  const shape = { Id: 'string', 'Size?': 'int', State: { Running: 'bool' }, '+': ['Extra'] };
  expect(compareShape(shape, { Id: 1, State: { Pid: 1 }, Extra: 1, More: 1 })).toEqual([
    'Id: number in place of string',
    'State.Running: missing',
    'State.Pid: one field too many',
    'More: one field too many',
  ]);
});
