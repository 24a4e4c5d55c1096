import { html, type Html } from './html.ts';
import { STYLE_PATH } from './style.ts';

export interface PageFrame {
  /** Before the hub's name in the title. */
  title: string;
  /** Undefined = not signed in. */
  login: string | undefined;
  /** Of the forms. */
  mark: string;
  /** Path of this page, to show which of the main ones it is. */
  path: string;
}

/** A page: landmarks, a way past the navigation, one heading of the first level. */
export function layout({ title, login, mark, path }: PageFrame, body: Html): string {
  const links = [
    { to: '/', text: 'Repositories' },
    ...(login === undefined
      ? []
      : [
          { to: '/settings/tokens', text: 'Tokens' },
          { to: '/settings/applications', text: 'Applications' },
        ]),
    { to: '/settings/limits', text: 'Limits' },
  ];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Berth hub</title>
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header>
          <div>
            <a class="brand" href="/">Berth hub</a>
            <nav aria-label="Main">
              <ul>
                ${links.map(
                  ({ to, text }) =>
                    html`<li><a href="${to}" ${to === path && html`aria-current="page"`}>${text}</a></li> `,
                )}
              </ul>
            </nav>
            <div class="who">
              ${login === undefined ? html`<a href="/login">Sign in</a>` : who(login, mark)}
            </div>
          </div>
        </header>
        <main id="content" tabindex="-1">${body}</main>
      </body>
    </html> `.text;
}

function who(login: string, mark: string): Html {
  return html`<span>Signed in as <a href="/${login}">${login}</a></span>
    <form class="line" method="post" action="/logout">
      ${markField(mark)}<button class="quiet" type="submit">Sign out</button>
    </form>`;
}

/** Each form carries it. */
export function markField(mark: string): Html {
  return html`<input type="hidden" name="mark" value="${mark}" />`;
}
