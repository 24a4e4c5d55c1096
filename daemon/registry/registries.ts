import type { DistributionInspect, ImageSearchItem, RegistryAuth } from '../../api/types/image.ts';
import type { SearchOptions } from '../../api/types/ports.ts';
import type { AuthRequest, AuthResponse } from '../../api/types/system.ts';
import { login } from '../../storage/registry/login.ts';
import {
  isRegistryName,
  parseReference,
  withDefaultTag,
  type Reference,
} from '../../storage/references/reference.ts';
import { invalidArgument } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { RegistrySettings } from '../../storage/registry/hosts.ts';
import { searchRegistry } from './search.ts';
import { askRegistries, type RegistryAccess } from '../../storage/registry/connect.ts';
import { RemoteRepository } from '../../storage/registry/repository.ts';
import type { RegistrySession } from '../../storage/registry/session.ts';
import { parseImageConfig } from '../../storage/image/image-config.ts';
import type { Platform } from '../../storage/image/platform.ts';

export interface RegistriesDeps {
  /** As configured now: reloadable. */
  settings: () => RegistrySettings;
  certificateRoots: RegistryAccess['certificateRoots'];
}

/** Docker Hub, as clients write it since before there was a second version of its API. */
const HUB_ADDRESS = 'https://index.docker.io/v1/';

/** What the API asks of registries. */
export class Registries {
  readonly #deps: RegistriesDeps;

  constructor(deps: RegistriesDeps) {
    this.#deps = deps;
  }

  /** POST /auth: tries credentials; keeps nothing. Throws unauthorized, remote or invalid_argument. */
  async login(request: AuthRequest, signal: AbortSignal): Promise<AuthResponse> {
    const credentials = {
      username: request.username ?? '',
      password: request.password ?? '',
      ...(request.identitytoken && { identityToken: request.identitytoken }),
    };
    const domain = domainOf(request.serveraddress || HUB_ADDRESS);
    const { identityToken } = await login(this.#access(), domain, credentials, signal);
    return { Status: 'Login Succeeded', IdentityToken: identityToken };
  }

  /** GET /distribution/{name}/json. Keeps nothing. */
  async distribution(ref: string, auth: RegistryAuth, signal: AbortSignal): Promise<DistributionInspect> {
    return await inspectRemote(this.#access(), ref, { auth, signal });
  }

  /** GET /images/search. */
  async search(options: SearchOptions): Promise<ImageSearchItem[]> {
    return await searchRegistry(this.#access(), options);
  }

  #access(): RegistryAccess {
    const { settings, certificateRoots } = this.#deps;
    // These answer at once or not at all: unlike pull and push they cannot tell their client that they wait.
    return { settings: settings(), certificateRoots, lookupWaitMs: limits.lookupWaitMs };
  }
}

/** `host[:port]` of what clients send: with or without a scheme, with or without a path. */
function domainOf(address: string): string {
  const text = /^https?:\/\//.test(address) ? address : `https://${address}`;
  if (!URL.canParse(text) || !isRegistryName(new URL(text).host)) {
    throw invalidArgument(`unable to parse server address: ${JSON.stringify(address)}`);
  }
  return new URL(text).host;
}

/** What a mirror or the registry has under a name: its manifest or index, and for which platforms. */
async function inspectRemote(
  access: RegistryAccess,
  ref: string,
  { auth, signal }: { auth: RegistryAuth; signal: AbortSignal },
): Promise<DistributionInspect> {
  const reference = withDefaultTag(parseReference(ref));
  return await askRegistries(access, reference.domain, { credentials: auth, signal }, async (session) => {
    const found = await inspectIn(session, reference, signal);
    session[Symbol.dispose]();
    return found;
  });
}

async function inspectIn(
  session: RegistrySession,
  reference: Reference,
  signal: AbortSignal,
): Promise<DistributionInspect> {
  const repository = new RemoteRepository(session, reference.path);
  const manifest = await repository.manifest(reference.digest ?? reference.tag ?? '', signal);
  const { mediaType, digest, bytes } = manifest;
  const platforms =
    manifest.kind === 'index'
      ? manifest.manifests.flatMap(({ platform }) => (platform === undefined ? [] : [platform]))
      : [parseImageConfig(await repository.blob(manifest.config, signal), manifest.config.digest)];
  return {
    Descriptor: { mediaType, digest, size: bytes.length },
    Platforms: platforms.map((platform) => shown(platform)),
  };
}

function shown({ architecture, os, variant }: Platform): DistributionInspect['Platforms'][number] {
  return { architecture, os, ...(variant !== undefined && variant !== '' && { variant }) };
}
