import createMarkdown, { type MarkdownIt } from 'markdown-it';
import { escapeHtml } from '../../../base/http/escape-html.ts';
import { limits } from '../../../base/limits.ts';
import { plainText } from './plain-text.ts';

/** Addresses that a link of a note may lead to: nothing that a browser runs, and nothing of this site. */
const LINKS = /^(https?:\/\/|mailto:)/i;

/** Headings of a note stand below those of the page, which are two. */
const SHIFT = 2;

/**
 * Markdown of strangers as HTML: its own HTML is shown as text, pictures as their descriptions, and no attribute comes
 * from it but the addresses of links. What is too long to be worked through stays text. Pure.
 */
export function renderMarkdown(text: string): string {
  return text.length > limits.hubNoteRenderedMax
    ? plainText(text)
    : `<div class="prose">${renderer().render(text)}</div>`;
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
  rules['image'] = (tokens, index) => escapeHtml(tokens[index]?.content ?? '');
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
    return `<a href="${escapeHtml(address)}" rel="nofollow noopener noreferrer ugc">`;
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

function codeOf(text: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre> `;
}
