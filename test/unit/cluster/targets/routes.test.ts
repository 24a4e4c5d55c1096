import { expect, test } from 'vitest';
import { serveTargets } from '../../../support/cluster/served-targets.ts';

/** Status, kind and reason of what a request is answered with. */
async function asked(url: string, method: string, path: string, body?: string) {
  const answer = await fetch(url + path, { method, ...(body !== undefined && { body }) });
  const { message, reason } = Object(await answer.json());
  return [answer.status, answer.headers.get('x-amzn-errortype'), reason, message];
}

const INVALID = 'ValidationException';

test.each([
  ['POST', '/targetgroups', '{', 400, INVALID, 'cannotParse', /^invalid JSON: /],
  [
    'POST',
    '/targetgroups',
    '[]',
    400,
    INVALID,
    'fieldValidationFailed',
    /^the body must be an object, not \[\]; name/,
  ],
  [
    'POST',
    '/targetgroups',
    undefined,
    400,
    INVALID,
    'fieldValidationFailed',
    /^the body must be an object; name/,
  ],
  ['PUT', '/targetgroups', '{}', 400, INVALID, 'unknownOperation', /does not allow this method/],
  ['GET', '/targetgroups/x/none', undefined, 404, 'UnknownOperationException', undefined, /could not find/],
  [
    'GET',
    '/targetgroups/tg-x',
    undefined,
    404,
    'ResourceNotFoundException',
    undefined,
    /no target group tg-x/,
  ],
  ['GET', '/servicenetworks', undefined, 501, 'NotImplementedException', undefined, /service networks/],
  ['PUT', '/authpolicy/x', '{}', 501, 'NotImplementedException', undefined, /policies/],
  ['POST', '/services/a/listeners/b/rules', '{}', 501, 'NotImplementedException', undefined, /rules/],
  ['GET', '/services/a/listeners/b/rules/c', undefined, 501, 'NotImplementedException', undefined, /rules/],
] as const)('%s %s %s', async (method, path, body, status, kind, reason, message) => {
  await using served = await serveTargets({}, true);
  const [foundStatus, foundKind, foundReason, foundMessage] = await asked(served.url, method, path, body);
  expect([foundStatus, foundKind, foundReason]).toEqual([status, kind, reason]);
  expect(foundMessage).toMatch(message);
});
