import { escapeHtml } from '../../../base/http/escape-html.ts';

/** A text as it is written, as HTML. Pure. */
export function plainText(text: string): string {
  return `<pre tabindex="0">${escapeHtml(text)}</pre>`;
}
