import type { TlsInfo } from '../../api/types/swarm/node.ts';
import { KeyedMutex } from '../../daemon/base/concurrency/mutex.ts';
import { invariant } from '../../daemon/base/errors.ts';
import { verifyChain } from '../ca/chain.ts';
import { identityOf, type Identity } from '../ca/identity.ts';
import { readKeyFile, writeKeyFile, type KeyFile } from '../ca/keys/key-file.ts';
import type { Issuer } from '../ca/roots/root.ts';
import { readCertificates, type Certificate } from '../ca/x509/certificate.ts';
import { normalisedCertificates } from '../ca/x509/pem.ts';
import type { Credentials } from '../rpc/credentials.ts';
import type { Keyring } from '../store/sealed.ts';
import type { NodeFiles } from './files.ts';

interface Held {
  /** The certificate, and what certifies it. */
  certPem: string;
  rootsPem: string;
  keys: KeyFile;
  /** Undefined where this node is not locked. */
  unlockKey: Buffer | undefined;
}

/** What this node shows of itself and whom it trusts, as it is on disk. */
export class NodeCertificates {
  readonly #files: NodeFiles;
  readonly #mutex = new KeyedMutex();
  readonly #listeners = new Set<() => void>();
  #held: Held;
  #leaf: Certificate;
  #identity: Identity;

  constructor(files: NodeFiles, held: Held) {
    this.#files = files;
    this.#held = held;
    [this.#leaf, this.#identity] = leafOf(held.certPem);
  }

  /** Throws unavailable where it is locked and no key is given, unauthorized for a wrong one. */
  static async read(files: NodeFiles, unlockKey?: Buffer): Promise<NodeCertificates> {
    const text = await files.readKeys();
    const rootsPem = await files.readRoots();
    invariant(
      text !== undefined && rootsPem !== undefined,
      'a node that belongs to a swarm has certificates',
    );
    const keys = readKeyFile(text, unlockKey);
    return new NodeCertificates(files, { certPem: normalisedCertificates(text), rootsPem, keys, unlockKey });
  }

  get identity(): Identity {
    return this.#identity;
  }

  get certificate(): Certificate {
    return this.#leaf;
  }

  get keys(): KeyFile {
    return this.#held.keys;
  }

  get unlockKey(): Buffer | undefined {
    return this.#held.unlockKey;
  }

  get rootsPem(): string {
    return this.#held.rootsPem;
  }

  get credentials(): Credentials {
    const { certPem, rootsPem, keys } = this.#held;
    return { rootsPem, own: { certPem, keyPem: keys.keyPem, cluster: this.#identity.cluster } };
  }

  /** Of its certificate. Undefined where that is not certified by what is trusted. */
  get issuer(): Issuer | undefined {
    const { certPem, rootsPem } = this.#held;
    try {
      const roots = readCertificates(rootsPem);
      // At a time when all of them count: clocks of those that made them differ, and this node's may be off.
      const now = Math.max(...[...roots, ...readCertificates(certPem)].map(({ validFrom }) => validFrom));
      const { issuer } = verifyChain(certPem, { roots, now, allowExpired: true });
      return { subject: issuer.rawSubject, publicKey: issuer.publicKey };
    } catch {
      // Trust has changed under it: it has to be renewed.
      return undefined;
    }
  }

  tlsInfo(): TlsInfo {
    const { issuer } = this;
    return {
      TrustRoot: this.#held.rootsPem,
      CertIssuerSubject: issuer?.subject.toString('base64') ?? '',
      CertIssuerPublicKey: issuer?.publicKey.toString('base64') ?? '',
    };
  }

  /** Called after each change. */
  subscribe(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Writes all of it, for a node that has just been made. */
  async writeAll(): Promise<void> {
    await this.#files.writeRoots(this.#held.rootsPem);
    await this.change({});
  }

  async change(changes: {
    certificate?: { certPem: string; keyPem: string };
    manager?: Omit<KeyFile, 'keyPem'>;
    /** Of managers alone: what becomes of the keys of the store. */
    keyring?: (held: Keyring) => Keyring;
    /** `null`: not locked any more. */
    unlockKey?: Buffer | null;
  }): Promise<void> {
    await this.#mutex.run('', async () => {
      const { keys } = this.#held;
      const { certificate, manager, unlockKey } = changes;
      const keyring = keys.keyring && (changes.keyring?.(keys.keyring) ?? keys.keyring);
      const held: Held = {
        ...this.#held,
        ...(certificate === undefined ? {} : { certPem: certificate.certPem }),
        keys: {
          keyPem: certificate?.keyPem ?? keys.keyPem,
          ...(manager ?? {
            ...(keyring && { keyring }),
            ...(keys.store && { store: keys.store }),
          }),
        },
        unlockKey: unlockKey === undefined ? this.#held.unlockKey : (unlockKey ?? undefined),
      };
      await this.#files.writeKeys(held.certPem + writeKeyFile(held.keys, held.unlockKey));
      this.#take(held);
    });
  }

  async trust(rootsPem: string): Promise<void> {
    await this.#mutex.run('', async () => {
      await this.#files.writeRoots(rootsPem);
      this.#take({ ...this.#held, rootsPem });
    });
  }

  #take(held: Held): void {
    this.#held = held;
    [this.#leaf, this.#identity] = leafOf(held.certPem);
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

function leafOf(certPem: string): [Certificate, Identity] {
  const [leaf] = readCertificates(certPem);
  const identity = leaf && identityOf(leaf);
  invariant(leaf !== undefined && identity !== undefined, 'a node has a certificate of a node');
  return [leaf, identity];
}
