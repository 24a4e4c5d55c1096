import { expect, test } from 'vitest';
import { readHubTokenLabels } from '../../../daemon/base/hub-token-labels.ts';

const TOKEN = 'berth.hub.token';
const PERMISSIONS = 'berth.hub.permissions';

test.each([
  [{ other: 'x' }, undefined],
  [{ [TOKEN]: 'Acme/app' }, { packages: 'read' }],
  [
    { [TOKEN]: 'Acme/app', [PERMISSIONS]: 'packages:write, repository_hooks:read' },
    { packages: 'write', repository_hooks: 'read' },
  ],
])('labels %j ask for %j', (labels, permissions) => {
  expect(readHubTokenLabels(labels as Record<string, string>)).toEqual(
    permissions && { owner: 'Acme', repository: 'app', permissions },
  );
});

test.each([
  [{ [TOKEN]: '' }, 'label berth.hub.token=: must be OWNER/REPOSITORY'],
  [{ [TOKEN]: 'app' }, 'label berth.hub.token=app: must be OWNER/REPOSITORY'],
  [{ [TOKEN]: 'a/b/c' }, 'label berth.hub.token=a/b/c: must be OWNER/REPOSITORY'],
  [
    { [PERMISSIONS]: 'packages:read' },
    'label berth.hub.permissions=packages:read: is of no use without berth.hub.token',
  ],
  [
    { [TOKEN]: 'a/b', [PERMISSIONS]: 'packages' },
    'label berth.hub.permissions=packages: must be NAME:read or NAME:write, with commas between',
  ],
  [
    { [TOKEN]: 'a/b', [PERMISSIONS]: '' },
    'label berth.hub.permissions=: must be NAME:read or NAME:write, with commas between',
  ],
  [
    { [TOKEN]: 'a/b', [PERMISSIONS]: 'packages:admin' },
    'label berth.hub.permissions=packages:admin: must be NAME:read or NAME:write, with commas between',
  ],
  [
    { [TOKEN]: 'a/b', [PERMISSIONS]: 'packages:read,packages:write' },
    'label berth.hub.permissions=packages:read,packages:write: has a name twice',
  ],
])('labels %j are refused', (labels, message) => {
  expect(() => readHubTokenLabels(labels as Record<string, string>)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});
