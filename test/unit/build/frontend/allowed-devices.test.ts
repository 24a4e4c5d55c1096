import { expect, test } from 'vitest';
import { isDeviceAllowed } from '../../../../daemon/build/frontend/instructions/device.ts';

test.each([
  ['device', true],
  ['device=v.com/d=one', true],
  ['device=v.com/d', true],
  ['device=v.com/d=*', true],
  ['device=v.com/d=two', false],
  ['device=v.com', false],
  ['network.host', false],
])('entitlement %s allows v.com/d=one: %j', (entitlement, isAllowed) => {
  expect(isDeviceAllowed('v.com/d=one', new Set([entitlement]))).toBe(isAllowed);
});
