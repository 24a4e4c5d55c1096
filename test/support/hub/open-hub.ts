import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Hub, type HubDeps } from '../../../daemon/hub/hub.ts';
import { LocalDeliveryLog } from '../../../daemon/hub/deliveries/local-log.ts';
import { DEFAULT_DELIVERY_RULES } from '../../../daemon/hub/deliveries/rules.ts';
import type { WebhookSettings } from '../../../daemon/hub/webhooks.ts';
import { DEFAULT_RULES, type RateRules } from '../../../daemon/hub/limits/rules.ts';
import { LocalRecords, type Room } from '../../../daemon/hub/records/local-records.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { TextIndex } from '../../../storage/database/text-index.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';
import type { NoteReader } from '../../../daemon/hub/notes/reader/port.ts';
import { OwnNoteReader } from './notes/own-reader.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import type { Records } from '../../../daemon/hub/records/port.ts';
import type { HubSession } from '../../../api/types/hub/ports.ts';

export const BASE_URL = 'http://hub.test:5010';

export interface OpenHub extends Disposable {
  hub: Hub;
  clock: ManualClock;
  records: Records;
  root: HubSession;
  /** A session with a header `Authorization`, from an address. */
  as(authorization: string | undefined, address?: string): HubSession;
  /** Where its registry keeps bytes. */
  directory: string;
  /** Where clients find it. */
  baseUrl: string;
  /** A classic token of a user. */
  token(user: string, ...scopes: string[]): Promise<string>;
}

/** What a test may give a hub in place of the usual. */
export interface HubParts {
  baseUrl?: string;
  noteReader?: NoteReader;
  aside?: HubDeps['aside'];
  /** Of the disk of its records. */
  room?: Room;
}

/** A hub of its own, with its records in a database in memory. */
export async function openHub(
  rules: Partial<RateRules> = {},
  clock = new ManualClock(),
  webhooks: Partial<WebhookSettings> = {},
  quotaBytes = 0,
  { baseUrl = BASE_URL, noteReader = new OwnNoteReader(), aside, room }: HubParts = {},
): Promise<OpenHub> {
  const directory = mkdtempSync(join(tmpdir(), 'bth-hub-'));
  const database = openDatabase(':memory:', silentLogger);
  const records = new LocalRecords(database, room);
  const textIndex = new TextIndex();
  const hub = await Hub.open({
    records,
    clock,
    log: silentLogger,
    baseUrl,
    rules: { ...DEFAULT_RULES, ...rules },
    webhooks: {
      deliveries: new LocalDeliveryLog(database),
      allowedHosts: ['external', 'loopback'],
      rules: DEFAULT_DELIVERY_RULES,
      hasCompatHeaders: true,
      version: '0.1.0',
      services: undefined,
      ...webhooks,
    },
    files: await HubBlobFiles.open(directory),
    quotaBytes,
    textIndex,
    noteReader,
    ...(aside && { aside }),
  });
  const root = hub.session('root');
  return {
    hub,
    records,
    clock,
    root,
    directory,
    baseUrl,
    as: (authorization, address = '192.0.2.1') => hub.session({ authorization, address }),
    token: async (user, ...scopes) => (await root.tokens.create(user, { scopes })).token,
    [Symbol.dispose]: () => {
      hub[Symbol.dispose]();
      textIndex[Symbol.dispose]();
      database.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Users alice, bob and carol; acme with alice as admin and bob as member; a public and a private repository of each.
 */
export async function peopledHub(
  rules: Partial<RateRules> = {},
  clock = new ManualClock(),
  webhooks: Partial<WebhookSettings> = {},
  quotaBytes = 0,
  parts: HubParts = {},
): Promise<OpenHub> {
  const open = await openHub(rules, clock, webhooks, quotaBytes, parts);
  const { accounts, repositories } = open.root;
  for (const login of ['alice', 'bob', 'carol']) {
    await accounts.createUser({ login });
  }
  await accounts.createOrganization({ login: 'acme', admin: 'alice' });
  await accounts.setMembership('acme', 'bob', 'member');
  for (const owner of ['alice', 'acme']) {
    await repositories.createFor(owner, { name: 'open' });
    await repositories.createFor(owner, { name: 'secret', private: true });
  }
  return open;
}
