import type { HubRepository } from '../../../types/hub/repository.ts';
import { pageOf, readPage } from '../../request/pages.ts';
import { scrolled, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';

/** One page of a list of repositories. */
export function repositoriesView(title: string, all: readonly HubRepository[], query: URLSearchParams): Html {
  const asked = readPage(query);
  const { items } = pageOf(all, asked, new URL('http://hub/'));
  const last = Math.max(1, Math.ceil(all.length / asked.perPage));
  return html`<h1>${title}</h1>
    ${
      items.length === 0
        ? html`<p>There are no repositories that you may see.</p>`
        : scrolled(
            title,
            html`<table>
              <caption>
                ${all.length} ${all.length === 1 ? 'repository' : 'repositories'}
              </caption>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Visibility</th>
                  <th scope="col">Description</th>
                  <th scope="col">Changed</th>
                </tr>
              </thead>
              <tbody>
                ${items.map(row)}
              </tbody>
            </table>`,
          )
    }
    ${last > 1 && pager(asked.page, last)}`;
}

function row(repository: HubRepository): Html {
  return html`<tr>
    <th scope="row"><a href="/${repository.full_name}">${repository.full_name}</a></th>
    <td><span class="label">${repository.visibility}</span></td>
    <td>${repository.description ?? ''}</td>
    <td>${timeElement(repository.updated_at)}</td>
  </tr>`;
}

function pager(page: number, last: number): Html {
  return html`<nav aria-label="Pages of the list">
    <p>
      ${page > 1 && html`<a rel="prev" href="?page=${page - 1}">Previous</a>`} Page ${page} of ${last}
      ${page < last && html`<a rel="next" href="?page=${page + 1}">Next</a>`}
    </p>
  </nav>`;
}
