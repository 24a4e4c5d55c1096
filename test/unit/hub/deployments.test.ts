import { armHere } from '../../support/fakes/failpoints.ts';
import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Hub } from '../../../daemon/hub/hub.ts';
import { newsOf, type ServiceImage } from '../../../daemon/hub/deployments/deployment-news.ts';
import { intentsOf } from '../../../daemon/hub/deliveries/intent.ts';
import { LocalDeliveryLog } from '../../../daemon/hub/deliveries/local-log.ts';
import { DEFAULT_DELIVERY_RULES } from '../../../daemon/hub/deliveries/rules.ts';
import { DEFAULT_RULES } from '../../../daemon/hub/limits/rules.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { TextIndex } from '../../../storage/database/text-index.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { BASE_URL, peopledHub, type OpenHub } from '../../support/hub/open-hub.ts';
import { OwnNoteReader } from '../../support/hub/notes/own-reader.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const WEB: ServiceImage = {
  service: 'service1',
  name: 'web',
  owner: 'acme',
  repository: 'open',
  tag: 'v1',
  digest: DIGEST,
  template: 1,
  isRollback: false,
  state: 'pending',
  message: '',
};

afterEach(() => armHere(''));

/** A hub with a hook for deployments, whose deliveries wait: nobody makes them in these tests. */
async function hubWithHook() {
  const open = await peopledHub();
  await open.root.hooks.create('acme', 'open', {
    config: { url: 'https://hook.invalid/' },
    events: ['deployment', 'deployment_status'],
  });
  return open;
}

/** What was left for the hook, as `EVENT ID-OF-DEPLOYMENT STATE`, and forgotten. */
async function told({ records }: OpenHub): Promise<string[]> {
  const { records: intents } = await records.list('intent/');
  const all = intents.flatMap(({ value }) => intentsOf(value));
  const lines = all.flatMap(({ event, news }) => {
    const occurrence = news.kind === 'occurrence' ? news.occurrence : undefined;
    if (occurrence?.kind === 'deployment') {
      return [`${event} ${occurrence.deployment.id} ${occurrence.deployment.digest.slice(7, 8)}`];
    }
    if (occurrence?.kind === 'deployment-status') {
      const { id, state, description } = occurrence.status;
      return [`${event} ${occurrence.deployment.id} ${state} #${id} ${description}`.trim()];
    }
    return [];
  });
  await records.update(intents.map(({ key }) => ({ kind: 'delete', key })));
  return lines;
}

test('deployments: each step of a service is told once', async () => {
  using open = await hubWithHook();
  const { deployments } = open.hub;
  await deployments.tell([WEB]);
  expect(await told(open)).toEqual(['deployment 1 a', 'deployment_status 1 pending #1']);
  for (const state of ['pending', 'in_progress', 'pending', 'success', 'in_progress'] as const) {
    await deployments.tell([{ ...WEB, state }]);
  }
  expect(await told(open)).toEqual(['deployment_status 1 in_progress #2', 'deployment_status 1 success #3']);
  const next = { ...WEB, template: 2, digest: `sha256:${'b'.repeat(64)}` };
  await deployments.tell([{ ...next, state: 'in_progress', message: 'update in progress' }]);
  expect(await told(open)).toEqual([
    'deployment_status 1 inactive #4',
    'deployment 2 b',
    'deployment_status 2 in_progress #5 update in progress',
  ]);
  const back = { ...WEB, isRollback: true, message: 'update rolled back due to failure' };
  await deployments.tell([{ ...back, state: 'in_progress' }]);
  await deployments.tell([{ ...back, state: 'success', message: 'rollback completed' }]);
  expect(await told(open)).toEqual([
    'deployment_status 2 failure #6 update rolled back due to failure',
    'deployment 3 a',
    'deployment_status 3 in_progress #7 update rolled back due to failure',
    'deployment_status 3 success #8 rollback completed',
  ]);
  await deployments.tell([]);
  await deployments.tell([]);
  expect(await told(open)).toEqual(['deployment_status 3 inactive #9']);
});

test('deployments: two managers with the same records tell each step once', async () => {
  using open = await hubWithHook();
  const database = openDatabase(':memory:', silentLogger);
  using other = await Hub.open({
    records: open.records,
    clock: open.clock,
    log: silentLogger,
    baseUrl: BASE_URL,
    rules: DEFAULT_RULES,
    files: await HubBlobFiles.open(`${open.directory}/other`),
    quotaBytes: 0,
    textIndex: new TextIndex(),
    noteReader: new OwnNoteReader(),
    webhooks: {
      deliveries: new LocalDeliveryLog(database),
      allowedHosts: ['external'],
      rules: DEFAULT_DELIVERY_RULES,
      hasCompatHeaders: true,
      version: '0.1.0',
      services: undefined,
      hasThread: false,
    },
  });
  await Promise.all([open.hub.deployments.tell([WEB]), other.deployments.tell([WEB])]);
  open.clock.setWall(1_000);
  await Promise.all([
    other.deployments.tell([{ ...WEB, state: 'success' }]),
    open.hub.deployments.tell([{ ...WEB, state: 'success' }]),
  ]);
  expect(await told(open)).toEqual([
    'deployment 1 a',
    'deployment_status 1 pending #1',
    'deployment_status 1 success #2',
  ]);
  database.close();
});

test('deployments: what could not be told is told at the next look, once', async () => {
  using open = await hubWithHook();
  const { deployments } = open.hub;
  const other: ServiceImage = { ...WEB, service: 'service2', name: 'other' };
  armHere('hub.deployment.publish=error@2');
  await expect(deployments.tell([WEB, other])).rejects.toThrow('failpoint hub.deployment.publish');
  expect(await told(open)).toEqual(['deployment 1 a', 'deployment_status 1 pending #1']);
  armHere('');
  await deployments.tell([WEB, other]);
  await deployments.tell([WEB, other]);
  expect(await told(open)).toEqual(['deployment 2 a', 'deployment_status 2 pending #2']);
  armHere('hub.deployment.publish=error');
  await expect(deployments.tell([])).rejects.toThrow('failpoint hub.deployment.publish');
  expect(await told(open)).toEqual([]);
  armHere('');
  await deployments.tell([]);
  await deployments.tell([]);
  expect(await told(open)).toEqual(['deployment_status 1 inactive #3', 'deployment_status 2 inactive #4']);
});

test('deployments: images that the hub has not are none, and nothing stays of a repository that goes', async () => {
  using open = await hubWithHook();
  const { deployments } = open.hub;
  await deployments.tell([
    { ...WEB, repository: 'none' },
    { ...WEB, service: 'service2', digest: null },
  ]);
  expect(await told(open)).toEqual([]);
  await deployments.tell([WEB]);
  await open.root.repositories.remove('acme', 'open');
  await deployments.tell([{ ...WEB, state: 'success' }]);
  expect((await open.records.list('deployment/')).records).toEqual([]);
});

const KNOWN = {
  repository: 1,
  deployment: { id: 1, service: 'web', digest: DIGEST, tag: null, createdMs: 0 },
  template: 1,
} as const;

test.each([
  ['success', { template: 1, state: 'failure' }, { isNew: false }],
  ['failure', { template: 1, state: 'in_progress' }, { isNew: false, state: 'in_progress' }],
  ['failure', { template: 2, state: 'pending', isRollback: true }, { isNew: true, state: 'pending' }],
] as const)('a deployment that is at %s, and then %j', (state, now, expected) => {
  expect(newsOf({ ...KNOWN, state }, { isRollback: false, message: '', ...now })).toEqual(expected);
});
