import { invalidArgument } from '../../daemon/base/errors.ts';
import { platformOf, platformsOf } from '../image-platform.ts';
import { registryAuth } from './registry-auth.ts';
import { empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import { defined } from './values.ts';

/** Image operations (docs: api/docs/v1.24.md section 3.2). Names contain slashes. */
export const imageRoutes: readonly ServedRoute[] = [
  route({
    id: 'image.list',
    method: 'GET',
    path: '/images/json',
    partly: 'no Signature and Build in Identity',
    handler: async ({ query }, { images }) => {
      const [manifests, identity] = [query.bool('manifests'), query.bool('identity')];
      if (identity && !manifests) {
        throw invalidArgument('conflicting options: identity requires manifests=1');
      }
      const options = { all: query.bool('all'), filters: query.filters(), manifests, identity };
      return ok(
        await images.list({
          ...options,
          sharedSize: query.bool('shared-size'),
          digests: query.bool('digests'),
        }),
      );
    },
  }),
  route({
    id: 'image.create',
    method: 'POST',
    path: '/images/create',
    body: { kind: 'bytes' },
    handler: async ({ query, bytes, header, signal }, { images }) => {
      const source = query.text('fromSrc');
      const image = query.text('fromImage');
      if (image !== undefined) {
        const options = { name: image, auth: registryAuth(header('x-registry-auth')), signal };
        const asked = defined({ tag: query.text('tag'), platform: query.text('platform') });
        return { kind: 'json-lines', messages: images.pull({ ...options, ...asked }) };
      }
      if (source === undefined) {
        throw invalidArgument('parameter fromImage or fromSrc is required: what to make the image from');
      }
      const options = {
        repo: query.text('repo') ?? '',
        tag: query.text('tag') ?? '',
        message: query.text('message') ?? '',
        changes: query.texts('changes'),
        ...defined({ platform: query.text('platform') }),
        signal,
      };
      return { kind: 'json-lines', messages: images.import(source === '-' ? bytes : source, options) };
    },
  }),
  route({
    id: 'image.load',
    method: 'POST',
    path: '/images/load',
    body: { kind: 'bytes' },
    handler: async ({ query, bytes, signal }, { images }) => ({
      kind: 'json-lines',
      isTold: true,
      messages: images.load(bytes, {
        quiet: query.bool('quiet', true),
        platforms: platformsOf(query, 'platform'),
        signal,
      }),
    }),
  }),
  route({
    id: 'image.saveSeveral',
    method: 'GET',
    path: '/images/get',
    handler: async ({ query, signal }, { images }) => {
      const names = query.texts('names');
      if (names.length === 0) {
        throw invalidArgument('parameter names is required: which images to save');
      }
      return {
        kind: 'tar',
        bytes: await images.save(names, { platforms: platformsOf(query, 'platform'), signal }),
      };
    },
  }),
  route({
    id: 'image.save',
    method: 'GET',
    path: '/images/*name/get',
    handler: async ({ params, query, signal }, { images }) => ({
      kind: 'tar',
      bytes: await images.save([params['name'] ?? ''], {
        platforms: platformsOf(query, 'platform'),
        signal,
      }),
    }),
  }),
  route({
    id: 'image.push',
    method: 'POST',
    path: '/images/*name/push',
    handler: ({ params, query, header, signal }, { images }) => {
      const options = { auth: registryAuth(header('x-registry-auth')), signal };
      const tag = { ...defined({ tag: query.text('tag') }), ...platformOf(query) };
      const messages = images.push(params['name'] ?? '', { ...options, ...tag });
      return Promise.resolve({ kind: 'json-lines', messages });
    },
  }),
  route({
    id: 'image.inspect',
    method: 'GET',
    path: '/images/*name/json',
    partly: 'no Signature and Build in Identity',
    handler: async ({ params, query }, { images }) => {
      const asked = { ...platformOf(query), manifests: query.bool('manifests') };
      if (asked.platform !== undefined && asked.manifests) {
        throw invalidArgument('conflicting options: manifests and platform options cannot both be set');
      }
      const name = params['name'] ?? '';
      const [image, legacy] = await Promise.all([images.inspect(name, asked), images.legacy(name, asked)]);
      return ok(image, legacy);
    },
  }),
  route({
    id: 'image.attestations',
    method: 'GET',
    path: '/images/*name/attestations',
    handler: async ({ params, query }, { images }) => {
      const asked = { types: query.texts('type'), statement: query.bool('statement') };
      return ok(await images.attestations(params['name'] ?? '', { ...platformOf(query), ...asked }));
    },
  }),
  route({
    id: 'image.history',
    method: 'GET',
    path: '/images/*name/history',
    handler: async ({ params, query }, { images }) =>
      ok(await images.history(params['name'] ?? '', platformOf(query))),
  }),
  route({
    id: 'image.tag',
    method: 'POST',
    path: '/images/*name/tag',
    handler: async ({ params, query }, { images }) => {
      const target = { repo: query.text('repo') ?? '', tag: query.text('tag') ?? '' };
      await images.tag(params['name'] ?? '', target);
      return empty(201);
    },
  }),
  route({
    id: 'image.prune',
    method: 'POST',
    path: '/images/prune',
    handler: async ({ query }, { images }) => ok(await images.prune(query.filters())),
  }),
  route({
    id: 'image.remove',
    method: 'DELETE',
    path: '/images/*name',
    handler: async ({ params, query }, { images }) =>
      ok(
        await images.remove(params['name'] ?? '', {
          force: query.bool('force'),
          noprune: query.bool('noprune'),
          platforms: platformsOf(query, 'platforms'),
        }),
      ),
  }),
];
