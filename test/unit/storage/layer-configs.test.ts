import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { layerConfigs } from '../../../storage/image-archives/layer-configs.ts';

const LAYER = 'sha256:e9e4c7388fb4f85d017cb518ff1773cbdda029adb79c55ff63304438b1cc8423';

// What images with more in them get is compared in system/images/save.test.ts.
test('layers: the configuration of one that says nothing is that of dockerd 26.1', () => {
  const rootfs = { type: 'layers', diff_ids: [LAYER] };
  const [only] = layerConfigs(Buffer.from(JSON.stringify({ os: 'linux', architecture: 'amd64', rootfs })), [
    LAYER,
  ]);
  expect(JSON.parse(String(only))).toMatchObject({ created: null, architecture: 'amd64', os: 'linux' });
  expect(
    createHash('sha256')
      .update(only ?? '')
      .digest('hex'),
  ).toBe('2383b7e561d2f520b1c15d733c58bc5125f48747b3bbcb7e1acb3a7ad10f8377');
});
