import { escapeHtml } from '../../../daemon/base/http/escape-html.ts';

/** Text that is HTML already. Made by `html`, and of notes by the hub's own renderer. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | false | readonly (Html | string)[];

/** HTML in which all that is put in is escaped, but for what is HTML already. Undefined and false put nothing in. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(pieces.reduce((text, piece, index) => text + textOf(parts[index - 1]) + piece));
}

function textOf(part: Part): string {
  if (part === undefined || part === false) {
    return '';
  }
  if (part instanceof Html) {
    return part.text;
  }
  return typeof part === 'object' ? part.map(textOf).join('') : escapeHtml(String(part));
}
