import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { EngineError, errorText } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { decodeKeyring } from '../../ca/keys/key-file.ts';
import { createRequest } from '../../ca/x509/request.ts';
import type { ManagerAddress } from '../../protocol/session.ts';
import type { Dial } from '../../rpc/port.ts';
import type { EtcdMembers } from '../../store/etcd/members.ts';
import { joinAddr, splitAddr } from '../addresses.ts';
import type { NodeCertificates } from '../certificates.ts';
import type { NodeFile } from '../files.ts';
import { ADMISSION_MS, type JoinStoreAnswer } from './admission.ts';

const LOOK_MS = 200;

interface Deps {
  clock: Clock;
  logger: Logger;
  certificates: NodeCertificates;
  dial: Dial;
  file: () => NodeFile;
  writeFile: (changes: Partial<NodeFile>) => Promise<void>;
  managers: () => readonly ManagerAddress[];
}

/** Addresses at which the store's members talk: the port after the one that nodes call. */
export function peerUrls({ listenAddr, advertiseAddr }: Pick<NodeFile, 'listenAddr' | 'advertiseAddr'>): {
  peerUrl: string;
  listenPeerUrl: string;
} {
  return { peerUrl: urlOf(advertiseAddr), listenPeerUrl: urlOf(listenAddr) };
}

function urlOf(addr: string): string {
  const { host, port } = splitAddr(addr);
  return `https://${joinAddr({ host, port: String(Number(port) + 1) })}`;
}

/** Asks the other managers to take this one into the store, and keeps what they give. */
export async function joinStore(deps: Deps, signal: AbortSignal): Promise<void> {
  const { certificates, file, writeFile } = deps;
  const { requestPem, keyPem } = createRequest();
  const urls = peerUrls(file());
  // What a manager of this swarm answers.
  const answer = (await askManagers(
    deps,
    'manager.join',
    { peerUrl: urls.peerUrl, requestPem },
    signal,
  )) as JoinStoreAnswer;
  const { authorityPem, certPem, cluster, raft, memberId } = answer;
  await certificates.change({
    manager: {
      keyring: decodeKeyring(Buffer.from(answer.keyring, 'base64')),
      store: { authorityPem, certPem, keyPem },
    },
    unlockKey: answer.unlockKey === '' ? null : Buffer.from(answer.unlockKey, 'base64'),
  });
  failpoint('swarm.membership.admission-kept');
  await writeFile({ member: { ...urls, cluster, raft, id: memberId, isBegun: false } });
}

/** Waits until the own member follows, and lets the others make it one that votes where it is not. */
export async function promoteSelf(deps: Deps, members: EtcdMembers, signal: AbortSignal): Promise<void> {
  const { clock, logger, file } = deps;
  while (!signal.aborted) {
    try {
      const { learner, leader } = await members.status();
      if (leader !== '0' && !learner) {
        return;
      }
      const memberId = file().member?.id;
      if (learner && memberId !== undefined) {
        await members.whenFollowing(signal);
        await askManagers(deps, 'manager.promote', { memberId }, signal);
      }
    } catch (error) {
      logger.debug({ error: errorText(error) }, 'the member of the store is not part of it yet');
    }
    await pause(clock, LOOK_MS, signal);
  }
  throw new EngineError('canceled', 'the manager was stopped');
}

async function askManagers(
  { dial, managers, file }: Deps,
  method: string,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  let failure: unknown = new EngineError('unavailable', 'no other manager is known');
  const { node } = file();
  for (const { addr } of managers().filter((manager) => manager.node !== node)) {
    using client = dial(addr);
    try {
      return await client.call(method, body, { signal, timeoutMs: ADMISSION_MS });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
