import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Listener } from '../listen.ts';
import { listenOwn, type OwnAddress } from '../own-listener.ts';
import type { HubApi } from './hub-api.ts';

/** Serves the hub at an address of its own. Throws unavailable when it cannot listen. */
export async function listenHub(api: HubApi, address: OwnAddress, log: Logger): Promise<Listener> {
  return await listenOwn(
    {
      address,
      setting: 'hub.address',
      title: 'the hub',
      connectionsMax: limits.hubConnectionsMax,
      handle: (req, res) => api.handle(req, res, 'listener', req.url ?? '/'),
    },
    log,
  );
}
