import { html, type Html } from './html.ts';

/** `12.3 MB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power] ?? ''}`;
}

/** `2026-01-01 12:00 UTC`, exact for programs. */
export function timeElement(time: string | null, none = 'never'): Html {
  return time === null
    ? html`<span class="soft">${none}</span>`
    : html`<time datetime="${time}">${time.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** The start of a digest; the whole of it for who looks closer. */
export function digestElement(digest: string): Html {
  return html`<code title="${digest}">${digest.slice(0, 19)}</code>`;
}

/** A table that is wider than the page is moved by keys too. */
export function scrolled(label: string, table: Html): Html {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">${table}</div>`;
}

/** An image of this hub, whatever address clients know it by. */
export function pathOf(address: string): string {
  return new URL(address).pathname;
}
