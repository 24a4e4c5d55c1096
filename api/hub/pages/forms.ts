import type { IncomingMessage } from 'node:http';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { EngineError, invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readBytes } from '../../pipeline/body.ts';

/** What a form holds: its fields, and the files that somebody has chosen, by the names of their fields. */
export interface SentForm {
  fields: URLSearchParams;
  files: ReadonlyMap<string, Buffer>;
}

/**
 * A form that was sent from a page of ours. Throws forbidden for one that another site sent: by what the
 * browser says of where it comes from, and by the mark that only our page had.
 */
export async function readForm(ctx: Context, mark: string): Promise<SentForm> {
  refuseOtherSites(ctx);
  const form = await readContent(ctx.req);
  if (!isSame(form.fields.get('mark') ?? '', mark)) {
    throw new EngineError(
      'forbidden',
      'This form is too old, or was not sent by this site. Please try again.',
    );
  }
  return form;
}

function refuseOtherSites(ctx: Context): void {
  const [origin, site] = [ctx.get('Origin'), ctx.get('Sec-Fetch-Site')];
  const isOther = origin !== '' && hostOf(origin) !== ctx.get('Host').toLowerCase();
  if (isOther || (site !== '' && site !== 'same-origin' && site !== 'none')) {
    throw new EngineError('forbidden', 'This form was sent by another site.');
  }
}

/** Without the port where it is the usual one, as browsers send `Host`. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function isSame(shown: string, expected: string): boolean {
  return timingSafeEqual(digestOf(shown), digestOf(expected));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

async function readContent(req: IncomingMessage): Promise<SentForm> {
  const type = req.headers['content-type'] ?? '';
  if (/^multipart\/form-data\b/i.test(type)) {
    return parted(await readBytes(req, limits.hubFormBytesMax + limits.hubAvatarBytesMax), type);
  }
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw invalidArgument(`a form must be application/x-www-form-urlencoded, not ${JSON.stringify(type)}`);
  }
  const text = (await readBytes(req, limits.hubFormBytesMax)).toString('utf8');
  return { fields: new URLSearchParams(text), files: new Map() };
}

/** A form with files (RFC 7578). A field for a file that nobody has chosen holds an empty one. */
async function parted(bytes: Buffer, type: string): Promise<SentForm> {
  const fields = new URLSearchParams();
  const files = new Map<string, Buffer>();
  for (const [name, value] of await formDataOf(bytes, type)) {
    if (typeof value === 'string') {
      fields.append(name, value);
    } else if (value.size > 0) {
      files.set(name, Buffer.from(await value.arrayBuffer()));
    }
  }
  return { fields, files };
}

async function formDataOf(bytes: Buffer, type: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'Content-Type': type } }).formData();
  } catch (error) {
    throw invalidArgument('the form is not what its type says: multipart/form-data', { cause: error });
  }
}
