/**
 * A process of its own with a hub over a database, to be killed at a failpoint: `prepare` makes a repository with a
 * webhook, `act` changes it, `resume` does nothing. Ends once nothing is left to be delivered, and prints what was.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalDeliveryLog } from '../../../daemon/hub/deliveries/local-log.ts';
import { DEFAULT_DELIVERY_RULES } from '../../../daemon/hub/deliveries/rules.ts';
import { Hub } from '../../../daemon/hub/hub.ts';
import { DEFAULT_RULES } from '../../../daemon/hub/limits/rules.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { TextIndex } from '../../../storage/database/text-index.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { BASE_URL } from './open-hub.ts';
import { OwnNoteReader } from './notes/own-reader.ts';

const [path = '', verb, url = ''] = process.argv.slice(2);
const database = openDatabase(path, silentLogger);
const records = new LocalRecords(database);
const deliveries = new LocalDeliveryLog(database);
const hub = await Hub.open({
  records,
  clock: systemClock,
  log: silentLogger,
  baseUrl: BASE_URL,
  rules: DEFAULT_RULES,
  files: await HubBlobFiles.open(`${path}.blobs`),
  quotaBytes: 0,
  textIndex: new TextIndex(),
  noteReader: new OwnNoteReader(),
  webhooks: {
    deliveries,
    allowedHosts: ['loopback'],
    rules: DEFAULT_DELIVERY_RULES,
    hasCompatHeaders: true,
    version: '0.1.0',
    services: undefined,
    hasThread: true,
  },
});
const { accounts, repositories, hooks } = hub.session('root');
if (verb === 'prepare') {
  await accounts.createUser({ login: 'alice' });
  await repositories.createFor('alice', { name: 'app' });
  await hooks.create('alice', 'app', { config: { url, content_type: 'json' }, events: ['repository'] });
} else if (verb === 'act') {
  await repositories.edit('alice', 'app', { description: 'changed' });
}
while ((await records.list('intent/')).records.length > 0) {
  await sleep(5);
}
const { description } = repositories.get('alice', 'app');
console.log(
  JSON.stringify({ description, guids: deliveries.list({ hook: 1, limit: 9 }).map(({ guid }) => guid) }),
);
hub[Symbol.dispose]();
database.close();
