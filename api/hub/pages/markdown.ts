import createMarkdown, { type MarkdownIt } from 'markdown-it';
import { limits } from '../../../daemon/base/limits.ts';
import { html, Html } from './html.ts';

/** Addresses that a link of a note may lead to: nothing that a browser runs, and nothing of this site. */
const LINKS = /^(https?:\/\/|mailto:)/i;

/** Headings of a note stand below those of the page, which are two. */
const SHIFT = 2;

/**
 * Markdown of strangers as HTML: its own HTML is shown as text, pictures as their descriptions, and no attribute comes
 * from it but the addresses of links. What is too long to be worked through stays text.
 */
export function markdown(text: string): Html {
  if (text.length > limits.hubNoteRenderedMax) {
    return html`<pre tabindex="0">${text}</pre>`;
  }
  return html`<div class="prose">${new Html(renderer().render(text))}</div>`;
}

let made: MarkdownIt | undefined;

/** Made when the first note is shown. */
function renderer(): MarkdownIt {
  made ??= makeRenderer();
  return made;
}

function makeRenderer(): MarkdownIt {
  const engine = createMarkdown({ html: false, linkify: false, typographer: false });
  const { rules } = engine.renderer;
  engine.validateLink = (url) => LINKS.test(url);
  rules['image'] = (tokens, index) => escape(tokens[index]?.content ?? '');
  // A browser moves what is wider than the page by keys only where it can be reached by them.
  rules['fence'] = (tokens, index) => codeOf(tokens[index]?.content ?? '');
  rules['code_block'] = (tokens, index) => codeOf(tokens[index]?.content ?? '');
  rules['table_open'] = () => '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>\n';
  rules['table_close'] = () => '</table></div>\n';
  // The alignment of a cell is a style, which the pages' policy does not let be.
  rules['th_open'] = () => '<th scope="col">';
  rules['td_open'] = () => '<td>';
  rules['link_open'] = (tokens, index) => {
    const address = String(tokens[index]?.attrGet('href') ?? '');
    return `<a href="${escape(address)}" rel="nofollow noopener noreferrer ugc">`;
  };
  engine.core.ruler.push('shift', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type === 'heading_open' || token.type === 'heading_close') {
        token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + SHIFT)}`;
      }
    }
  });
  return engine;
}

function escape(text: string): string {
  return html`${text}`.text;
}

function codeOf(text: string): string {
  return html`<pre tabindex="0"><code>${text}</code></pre> `.text;
}
