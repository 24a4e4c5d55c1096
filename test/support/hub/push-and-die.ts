/**
 * A process of its own with a registry over a database and a folder, to be killed at a failpoint: `prepare` makes a
 * user, `push` pushes an image and mounts its layer elsewhere, `delete` deletes what was pushed, `index` pushes an
 * index of more images than one update deletes, and deletes it, `fetch` loses the layer and has it from another
 * manager, `mend` waits until what was left is mended and pushes then. With a third word pushes wait until another
 * manager holds them, too. Prints what is wrong in the end, and what was before the push of `mend`.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock, type Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalDeliveryLog } from '../../../daemon/hub/deliveries/local-log.ts';
import { DEFAULT_DELIVERY_RULES } from '../../../daemon/hub/deliveries/rules.ts';
import { Hub } from '../../../daemon/hub/hub.ts';
import { DEFAULT_RULES } from '../../../daemon/hub/limits/rules.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { MEDIA_TYPES } from '../../../daemon/hub/registry/manifests/manifest.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { TextIndex } from '../../../storage/database/text-index.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import { BASE_URL } from './open-hub.ts';
import { descriptorOf, digestOf, imageManifest } from './registry-client.ts';
import { basic } from './serve-registry.ts';
import { OwnNoteReader } from './notes/own-reader.ts';

const [path = '', verb = '', replicated] = process.argv.slice(2);
/** What the other manager was given. */
const given = `${path}.given`;
mkdirSync(given, { recursive: true });
const [NAME, OTHER, CONFIG, LAYER] = ['alice/app', 'alice/other', '{}', 'a layer'];
let hasPushed = false;
const EMPTY_INDEX = { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex };
/** What is deleted is collected sooner: nobody waits for two seconds here. All other timers come in their time. */
const clock: Clock = {
  nowNano: () => systemClock.nowNano(),
  monotonicMs: () => systemClock.monotonicMs(),
  setTimeout: (callback, ms) => systemClock.setTimeout(callback, ms === limits.hubCollectSoonMs ? 100 : ms),
};
const database = openDatabase(path, silentLogger);
const records = new LocalRecords(database);
const files = await HubBlobFiles.open(`${path}.blobs`);
const hub = await Hub.open({
  records,
  clock,
  log: silentLogger,
  baseUrl: BASE_URL,
  rules: DEFAULT_RULES,
  files,
  // Another manager, which holds the layer.
  peers: {
    has: () => Promise.resolve(true),
    read: async function* read() {
      yield await Promise.resolve(Buffer.from(LAYER));
    },
    judge: () => undefined,
    others: () => ['n2'],
    offer: (_, { digest }) =>
      Promise.resolve(replicated === undefined || existsSync(join(given, digest)) ? 'held' : 'wanted'),
    give: async (_, { digest }, bytes) => {
      await writeFile(join(given, digest), await buffer(Readable.from(bytes)));
    },
  },
  ...(replicated !== undefined && { replicas: 2 }),
  quotaBytes: 0,
  textIndex: new TextIndex(),
  noteReader: new OwnNoteReader(),
  webhooks: {
    deliveries: new LocalDeliveryLog(database),
    allowedHosts: ['loopback'],
    rules: DEFAULT_DELIVERY_RULES,
    hasCompatHeaders: true,
    version: '0.1.0',
    services: undefined,
    hasThread: true,
  },
});
const root = hub.session('root');

async function session() {
  const { token } = await root.tokens.create('alice', { scopes: ['write:packages', 'delete:packages'] });
  return await hub.registry.session({ authorization: basic('alice', token), address: '192.0.2.1' });
}

async function push(): Promise<void> {
  hasPushed = true;
  const alice = await session();
  for (const bytes of [CONFIG, LAYER]) {
    const { id } = await alice.startUpload(NAME);
    const body = { bytes: Readable.from([Buffer.from(bytes)]), length: undefined, range: undefined };
    await alice.finishUpload(NAME, id, digestOf(bytes), body);
  }
  const bytes = Buffer.from(JSON.stringify(imageManifest(CONFIG, [LAYER])));
  await alice.putManifest(NAME, '1', { mediaType: undefined, bytes });
  await alice.mountBlob(OTHER, digestOf(LAYER), NAME);
  await alice.cancelUpload(NAME, (await alice.startUpload(NAME)).id);
}

async function remove(): Promise<void> {
  const alice = await session();
  await alice.deleteManifest(NAME, digestOf(JSON.stringify(imageManifest(CONFIG, [LAYER]))));
  await alice.deleteBlob(NAME, digestOf(CONFIG));
  await root.repositories.remove('alice', 'other');
}

/** Each is no more than a manifest; the first is the index. */
function indexed(): string[] {
  const children = Array.from({ length: limits.hubChangesAtOnce }, (_, at) =>
    JSON.stringify({ ...EMPTY_INDEX, manifests: [], annotations: { at: String(at) } }),
  );
  const manifests = children.map((child) => descriptorOf(MEDIA_TYPES.ociIndex, child));
  return [JSON.stringify({ ...EMPTY_INDEX, manifests }), ...children];
}

async function index(): Promise<void> {
  const alice = await session();
  const [whole = '', ...children] = indexed();
  for (const bytes of [...children, whole]) {
    await alice.putManifest(NAME, digestOf(bytes), { mediaType: undefined, bytes: Buffer.from(bytes) });
  }
  await alice.deleteManifest(NAME, digestOf(whole));
}

/** The disk has lost the layer. */
async function fetchAgain(): Promise<void> {
  await files.remove(digestOf(LAYER));
  const blob = await (await session()).openBlob(NAME, digestOf(LAYER));
  await buffer(blob.stream(0, blob.size - 1));
}

/** What is neither whole nor gone. Pushes that have not ended may go on. */
async function problems(): Promise<string[]> {
  const found: string[] = [];
  const known = new Set<string>();
  for (const prefix of ['blob/', 'manifest/']) {
    for (const { key } of (await records.list(prefix)).records) {
      const [, repository = '', digest = ''] = key.split('/');
      known.add(digest);
      const bytes = await files.read(digest);
      const actual = bytes && `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      const isOrphan = !root.repositories.all().some(({ id }) => String(id) === repository);
      found.push(
        ...(actual === digest ? [] : [`${key} has no file`]),
        ...(isOrphan ? [`${key} is an orphan`] : []),
      );
    }
  }
  for (const { key, value } of (await records.list('tag/')).records) {
    const [, repository = ''] = key.split('/');
    // As tags are written.
    const { digest } = value as { digest: string };
    found.push(...((await records.get(`manifest/${repository}/${digest}`)) ? [] : [`${key} leads nowhere`]));
  }
  if (replicated !== undefined && hasPushed) {
    found.push(...[...known].filter((digest) => !existsSync(join(given, digest))));
  }
  for (const { key } of (await records.list('leftover/')).records) {
    found.push(`${key} is still to go`);
  }
  const orphans = (await files.digests()).filter((digest) => !known.has(digest));
  return [...found, ...orphans.map((digest) => `${digest} is nobody's`)];
}

if (verb === 'prepare') {
  await root.accounts.createUser({ login: 'alice' });
} else if (verb === 'push') {
  await push();
} else if (verb === 'delete') {
  await remove();
} else if (verb === 'index') {
  await index();
} else if (verb === 'fetch') {
  await fetchAgain();
}
const found = await unmended();
if (verb === 'mend') {
  await push();
}
const said = { mended: found, problems: await unmended(), blobs: (await files.digests()).length };
console.log(JSON.stringify(said));
hub[Symbol.dispose]();
database.close();

/** What is still wrong after a while, in which the collector works. */
async function unmended(): Promise<string[]> {
  const deadline = performance.now() + 5_000;
  let left = await problems();
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(10);
    left = await problems();
  }
  return left;
}
