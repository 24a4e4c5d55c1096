import { EngineError, invalidArgument, type ErrorCode } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Granted } from '../leader/attachments.ts';
import type { Leading } from '../leader/ports.ts';
import type { AttachmentRefusal, AttachmentWish } from '../planner/allocator/attachments.ts';
import type { AttachAnswer, AttachedAnswer } from '../protocol/attachments.ts';
import { fieldsOf, textOf } from './check.ts';

/** What refusals are to clients, as those of the node's own networks are. */
const CODES = {
  NotFound: 'not_found',
  PermissionDenied: 'forbidden',
  InvalidArgument: 'invalid_argument',
  FailedPrecondition: 'forbidden',
  ResourceExhausted: 'internal',
} as const satisfies Record<AttachmentRefusal['code'], ErrorCode>;

/** `networks.attach` of a node. Throws in dockerd's words what the leader refuses. */
export async function attach(
  { attachments }: Leading,
  node: string,
  body: unknown,
  signal: AbortSignal,
): Promise<AttachAnswer> {
  const wish = wishOf(node, body);
  const granted = await attachments.attach(wish, signal);
  if (!('id' in granted)) {
    throw refusal(wish, granted);
  }
  const { id, network, addresses } = granted;
  return { id, network, addresses };
}

/** `networks.detach` of a node. */
export async function detach(
  { attachments }: Leading,
  node: string,
  body: unknown,
  signal: AbortSignal,
): Promise<void> {
  const fields = fieldsOf(body, 'a detachment');
  const of = { network: shortTextOf(fields, 'network'), container: shortTextOf(fields, 'container') };
  await attachments.detach(node, of, signal);
}

/** `networks.attached` of a node. */
export async function attached(
  { attachments }: Leading,
  node: string,
  body: unknown,
  signal: AbortSignal,
): Promise<AttachedAnswer> {
  const list = listOf(fieldsOf(body, 'attachments'), 'attachments', limits.swarmAttachmentsMax);
  const wishes = list.map((each) => wishOf(node, each));
  const granted = await attachments.attached(node, wishes, signal);
  return { refused: wishes.flatMap((wish, index) => refusedOf(wish, granted[index])) };
}

function refusedOf(wish: AttachmentWish, granted: Granted | undefined): AttachedAnswer['refused'] {
  const { network, container } = wish;
  return granted === undefined || 'id' in granted
    ? []
    : [{ network, container, error: refusal(wish, granted).message }];
}

function refusal({ network }: AttachmentWish, { code, text }: AttachmentRefusal): EngineError {
  return new EngineError(
    CODES[code],
    `Could not attach to network ${network}: rpc error: code = ${code} desc = ${text}`,
  );
}

/** The node is the caller, whatever it says. */
function wishOf(node: string, body: unknown): AttachmentWish {
  const fields = fieldsOf(body, 'an attachment');
  const texts = (name: string, max: number): string[] =>
    listOf(fields, name, max).map((text) => shortTextOf({ text }, 'text'));
  return {
    node,
    network: shortTextOf(fields, 'network'),
    container: shortTextOf(fields, 'container'),
    names: texts('names', limits.swarmAttachmentNamesMax),
    // One of each family.
    addresses: texts('addresses', 2),
  };
}

function listOf(fields: Record<string, unknown>, name: string, max: number): unknown[] {
  const list = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (!Array.isArray(list) || list.length > max) {
    throw invalidArgument(`${name} are no list of at most ${max}`);
  }
  return list;
}

function shortTextOf(fields: Record<string, unknown>, name: string): string {
  const text = textOf(fields, name);
  if (text === '' || text.length > limits.swarmAttachmentTextMax) {
    throw invalidArgument(
      `${name} has ${text.length} characters: 1 to ${limits.swarmAttachmentTextMax} are taken`,
    );
  }
  return text;
}
