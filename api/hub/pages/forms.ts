import type { IncomingMessage } from 'node:http';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { EngineError, invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { UnreadBodyError } from '../../pipeline/body.ts';

/**
 * The fields of a form that was sent from a page of ours. Throws forbidden for one that another site sent: by what the
 * browser says of where it comes from, and by the mark that only our page had.
 */
export async function readForm(ctx: Context, mark: string): Promise<URLSearchParams> {
  refuseOtherSites(ctx);
  const form = new URLSearchParams(await readText(ctx.req));
  if (!isSame(form.get('mark') ?? '', mark)) {
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

async function readText(req: IncomingMessage): Promise<string> {
  const type = req.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw invalidArgument(`a form must be application/x-www-form-urlencoded, not ${JSON.stringify(type)}`);
  }
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > limits.hubFormBytesMax) {
      throw new UnreadBodyError('invalid_argument', `a form has at most ${limits.hubFormBytesMax} bytes`);
    }
  }
  return text;
}
