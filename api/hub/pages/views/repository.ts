import type { PageTag } from '../../../types/hub/pages.ts';
import type { HubNote } from '../../../types/hub/notes.ts';
import type { HubRepository } from '../../../types/hub/repository.ts';
import { digestElement, scrolled, sizeText, timeElement } from '../format.ts';
import { html, type Html } from '../html.ts';
import { notesSection } from './notes.ts';

export interface RepositoryPage {
  repository: HubRepository;
  /** Undefined = there is no registry. */
  tags: readonly PageTag[] | undefined;
  notes: readonly HubNote[];
  /** As clients name it: `hub.example:5010`. */
  host: string;
  hasHooks: boolean;
}

/** A repository with its notes, its tags, their sizes and layers, and the command to pull. */
export function repositoryView({ repository, tags, notes, host, hasHooks }: RepositoryPage): Html {
  const { full_name: fullName, description, visibility, permissions } = repository;
  const image = `${host}/${fullName.toLowerCase()}`;
  return html`<h1>${fullName} <span class="label">${visibility}</span></h1>
    ${description !== null && html`<p>${description}</p>`}
    ${hasHooks && permissions.admin && html`<p><a href="/${fullName}/settings/hooks">Webhooks</a></p>`}
    ${notesSection(notes)}
    <h2>Tags</h2>
    ${
      tags === undefined
        ? html`<p>This hub has no registry yet.</p>`
        : tags.length === 0
          ? html`<p>Nothing was pushed yet. To push:</p>
              <pre tabindex="0">docker push ${image}:latest</pre>`
          : html`${scrolled('Tags', tagTable(tags))} ${tags.map((tag) => details(tag, image))}`
    }`;
}

function tagTable(tags: readonly PageTag[]): Html {
  return html`<table>
    <caption>
      ${tags.length} ${tags.length === 1 ? 'tag' : 'tags'}
    </caption>
    <thead>
      <tr>
        <th scope="col">Tag</th>
        <th scope="col">Digest</th>
        <th scope="col">Platforms</th>
        <th scope="col" class="number">Size</th>
        <th scope="col">Pushed</th>
      </tr>
    </thead>
    <tbody>
      ${tags.map(
        (tag) =>
          html`<tr>
            <th scope="row"><a href="#tag-${tag.name}">${tag.name}</a></th>
            <td>${digestElement(tag.digest)}</td>
            <td>${tag.platforms.join(', ')}</td>
            <td class="number">${sizeText(sizeOf(tag))}</td>
            <td>${timeElement(tag.pushedAt, 'not known')}</td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

function details(tag: PageTag, image: string): Html {
  return html`<section id="tag-${tag.name}" aria-labelledby="head-${tag.name}">
    <h3 id="head-${tag.name}">${tag.name}</h3>
    <pre tabindex="0" aria-label="Command to pull ${tag.name}">docker pull ${image}:${tag.name}</pre>
    <details>
      <summary>${tag.layers.length} ${tag.layers.length === 1 ? 'layer' : 'layers'}</summary>
      ${scrolled(
        `Layers of ${tag.name}`,
        html`<table>
          <thead>
            <tr>
              <th scope="col">Layer</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">Size</th>
            </tr>
          </thead>
          <tbody>
            ${tag.layers.map(
              (layer) =>
                html`<tr>
                  <th scope="row">${digestElement(layer.digest)}</th>
                  <td>${layer.mediaType}</td>
                  <td class="number">${sizeText(layer.size)}</td>
                </tr> `,
            )}
          </tbody>
        </table>`,
      )}
    </details>
  </section>`;
}

function sizeOf({ layers }: PageTag): number {
  return layers.reduce((sum, { size }) => sum + size, 0);
}
