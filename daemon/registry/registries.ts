import type { AuthRequest, AuthResponse } from '../../api/types/system.ts';
import { login } from '../../storage/registry/login.ts';
import type { LoginDeps } from '../../storage/registry/login.ts';
import { invalidArgument } from '../base/errors.ts';
import type { RegistrySettings } from '../../storage/registry/hosts.ts';

export interface RegistriesDeps {
  /** As configured now: reloadable. */
  settings: () => RegistrySettings;
  certificateRoots: LoginDeps['certificateRoots'];
}

/** Docker Hub, as clients write it since before there was a second version of its API. */
const HUB_ADDRESS = 'https://index.docker.io/v1/';

/** Registries as the API meets them. */
export class Registries {
  readonly #deps: RegistriesDeps;

  constructor(deps: RegistriesDeps) {
    this.#deps = deps;
  }

  /** POST /auth: tries credentials; keeps nothing. Throws unauthorized, unavailable or invalid_argument. */
  async login(request: AuthRequest, signal: AbortSignal): Promise<AuthResponse> {
    const { settings, certificateRoots } = this.#deps;
    const credentials = {
      username: request.username ?? '',
      password: request.password ?? '',
      ...(request.identitytoken && { identityToken: request.identitytoken }),
    };
    const domain = domainOf(request.serveraddress || HUB_ADDRESS);
    const { identityToken } = await login(
      { settings: settings(), certificateRoots },
      domain,
      credentials,
      signal,
    );
    return { Status: 'Login Succeeded', IdentityToken: identityToken };
  }
}

/** `host[:port]` of what clients send: with or without a scheme, with or without a path. */
function domainOf(address: string): string {
  const text = /^https?:\/\//.test(address) ? address : `https://${address}`;
  if (!URL.canParse(text)) {
    throw invalidArgument(`unable to parse server address: ${JSON.stringify(address)}`);
  }
  return new URL(text).host;
}
