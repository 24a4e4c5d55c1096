import type { HubPagesPort, PageDeliveryDetails, PageHook, PageTag } from '../../../api/types/hub/pages.ts';

const HOOK: PageHook = {
  id: 7,
  active: true,
  events: ['push', 'package'],
  config: { url: 'https://ci.example/hook', content_type: 'json', insecure_ssl: '0', secret: '********' },
  last_response: { code: 500, status: 'invalid HTTP response', message: 'invalid HTTP response' },
};

const DELIVERY: PageDeliveryDetails = {
  id: 12,
  guid: '0f9c2a3e-0000-4000-8000-000000000001',
  delivered_at: '2026-01-01T12:00:00Z',
  redelivery: false,
  duration: 0.27,
  status: 'invalid HTTP response',
  status_code: 500,
  event: 'push',
  action: null,
  url: 'https://ci.example/hook',
  request: {
    headers: { 'X-Svc-Event': 'push', 'X-Hub-Signature-256': 'sha256=757107ea' },
    payload: { ref: 'refs/tags/latest', note: '<script>alert(1)</script>' },
  },
  response: { headers: { server: 'x' }, payload: '<b>broken</b>' },
};

const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

const TAG: PageTag = {
  name: 'latest',
  digest: `sha256:${'a1'.repeat(32)}`,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  pushedAt: '2026-01-01T11:00:00Z',
  platforms: ['linux/amd64'],
  layers: [
    { digest: `sha256:${'b2'.repeat(32)}`, mediaType: LAYER, size: 31_357_311 },
    { digest: `sha256:${'c3'.repeat(32)}`, mediaType: LAYER, size: 912 },
  ],
};

/** Pages with images and webhooks that are always the same. `redelivered` gets the ids that were asked for. */
export function withFakes(pages: HubPagesPort, redelivered: number[] = []): HubPagesPort {
  return {
    signIn: (request) => pages.signIn(request),
    signOut: (secret) => pages.signOut(secret),
    markOf: (visitor) => pages.markOf(visitor),
    visit: (secret, address) => ({
      ...pages.visit(secret, address),
      images: {
        tags: (_owner, name) => (name === 'empty' ? [] : [TAG, { ...TAG, name: '1.0', platforms: [] }]),
      },
      hooks: {
        list: () => [HOOK],
        get: () => HOOK,
        deliveries: () => [
          DELIVERY,
          { ...DELIVERY, id: 11, status: 'OK', status_code: 200, redelivery: true },
        ],
        delivery: () => DELIVERY,
        redeliver: (_owner, _name, _hook, delivery) => {
          redelivered.push(delivery);
          return Promise.resolve();
        },
      },
    }),
  };
}
