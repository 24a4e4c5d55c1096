import { pause } from '../../daemon/base/concurrency/pause.ts';
import { EngineError, errorText, invalidArgument, isEngineError } from '../../daemon/base/errors.ts';
import { verifyChain } from '../ca/chain.ts';
import { identityOf } from '../ca/identity.ts';
import { checkRootDigest, parseJoinToken } from '../ca/tokens.ts';
import { readCertificates } from '../ca/x509/certificate.ts';
import { createRequest } from '../ca/x509/request.ts';
import { Dialer } from '../rpc/dialer.ts';
import { listenFor, joinAddr, splitAddr } from './addresses.ts';
import { NodeCertificates } from './certificates.ts';
import type { NodeFile, NodeFiles } from './files.ts';
import { nowMs } from './manager/authority.ts';
import type { Tools } from './ports.ts';
import { certPemOf } from './renewal.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 5_000;
const DEFAULT_PORT = '2377';

/** A node that has its certificate, on disk. */
export interface Joined {
  file: NodeFile;
  certificates: NodeCertificates;
}

/**
 * Asks the managers for a certificate until one gives it, or says that it never will. What goes wrong in between is
 * told to `onTrouble`. Throws invalid_argument for a token that is wrong or of another swarm.
 */
export async function join(
  tools: Tools,
  {
    files,
    file,
    signal,
    onTrouble,
  }: {
    files: NodeFiles;
    file: NodeFile;
    signal: AbortSignal;
    onTrouble: (message: string) => void;
  },
): Promise<Joined> {
  let delayMs = RETRY_FIRST_MS;
  for (;;) {
    let failure: unknown;
    for (const addr of file.joining?.RemoteAddrs ?? []) {
      try {
        return await joinBy(tools, { files, file, addr: withPort(addr) });
      } catch (error) {
        if (isFinal(error)) {
          throw error;
        }
        failure = error;
      }
    }
    onTrouble(errorText(failure));
    tools.logger.warn({ error: errorText(failure) }, 'the swarm could not be joined yet');
    await pause(tools.clock, delayMs, signal);
    signal.throwIfAborted();
    delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
  }
}

/** Another manager would say the same. */
function isFinal(error: unknown): boolean {
  return isEngineError(error, 'invalid_argument');
}

function withPort(addr: string): string {
  return /:\d+$/.test(addr) && !/^[^[]*:.*:/.test(addr)
    ? addr
    : joinAddr({ host: addr.replaceAll(/[[\]]/g, ''), port: DEFAULT_PORT });
}

async function joinBy(
  { clock }: Tools,
  { files, file, addr }: { files: NodeFiles; file: NodeFile; addr: string },
): Promise<Joined> {
  const { JoinToken = '', Availability } = file.joining ?? {};
  const token = parseJoinToken(JoinToken);
  const rootsPem = await rootsOf(addr, clock);
  checkRootDigest(token, rootsPem);
  const { requestPem, keyPem } = createRequest();
  using dialer = new Dialer({ clock, credentials: () => ({ rootsPem }) });
  using client = dialer.dial(addr);
  const answer = await client.call('ca.issue', {
    requestPem,
    token: JoinToken,
    ...(Availability ? { availability: Availability } : {}),
  });
  const certPem = certPemOf(answer);
  const { leaf } = verifyChain(certPem, { roots: readCertificates(rootsPem), now: nowMs(clock) });
  const identity = identityOf(leaf);
  if (identity === undefined) {
    throw invalidArgument('the certificate that the manager gave is none of a node');
  }
  const certificates = new NodeCertificates(files, {
    certPem,
    rootsPem,
    keys: { keyPem },
    unlockKey: undefined,
  });
  const { joining: _joining, ...rest } = file;
  const { port } = splitAddr(file.listenAddr);
  const advertiseAddr = file.advertiseAddr || joinAddr({ host: seenFrom(answer), port });
  const joined: NodeFile = {
    ...rest,
    node: identity.node,
    cluster: identity.cluster,
    advertiseAddr,
    listenAddr: listenFor(file.listenAddr, advertiseAddr),
    managers: [{ node: '', addr }],
  };
  await certificates.writeAll();
  await files.writeNode(joined);
  return { file: joined, certificates };
}

/** What a manager shows as the swarm's root, not believed yet. */
async function rootsOf(addr: string, clock: Tools['clock']): Promise<string> {
  using dialer = new Dialer({ clock, credentials: () => undefined });
  using client = dialer.dial(addr);
  const answer = await client.call('ca.root', {});
  if (
    typeof answer === 'object' &&
    answer !== null &&
    'rootsPem' in answer &&
    typeof answer.rootsPem === 'string'
  ) {
    return answer.rootsPem;
  }
  throw new EngineError('unavailable', `${addr} answered without a root certificate`);
}

/** This node's address as the manager sees it. */
function seenFrom(answer: unknown): string {
  const address =
    typeof answer === 'object' && answer !== null && 'address' in answer ? String(answer.address) : '';
  return address.replace(/^::ffff:/, '');
}
