import { accountRoutes } from './accounts.ts';
import { asideRoutes } from './aside.ts';
import { auditRoutes } from './audit.ts';
import { applicationRoutes } from './applications.ts';
import { appRoutes } from './apps.ts';
import { collaboratorRoutes } from './collaborators.ts';
import { repositoryRoutes } from './repositories.ts';
import { hookRoutes } from './hooks.ts';
import { deliveryRoutes } from './deliveries.ts';
import { limitRoutes } from './limits.ts';
import { noteRoutes } from './notes.ts';
import { overviewRoutes } from './overview.ts';
import { platformRoutes } from '../oauth/platform-routes.ts';
import { oauthRoutes } from '../oauth/standard-routes.ts';
import type { HubRoute } from './route.ts';
import { searchRoutes } from './search.ts';
import { tokenRoutes } from './tokens.ts';

/** Every operation of the hub. */
export const HUB_ROUTES: readonly HubRoute[] = [
  ...overviewRoutes,
  ...accountRoutes,
  ...repositoryRoutes,
  ...collaboratorRoutes,
  ...hookRoutes,
  ...deliveryRoutes,
  ...noteRoutes,
  ...searchRoutes,
  ...tokenRoutes,
  ...appRoutes,
  ...applicationRoutes,
  ...platformRoutes,
  ...oauthRoutes,
  ...limitRoutes,
  ...asideRoutes,
  ...auditRoutes,
];
