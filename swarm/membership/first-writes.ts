import type { NodeSpec } from '../../api/types/swarm/node.ts';
import type { SwarmSpec } from '../../api/types/swarm/swarm.ts';
import type { Identity } from '../ca/identity.ts';
import type { KeyFile } from '../ca/keys/key-file.ts';
import { newUnlockKey } from '../ca/keys/unlock-key.ts';
import { newRootState, issuerOf } from '../ca/roots/root.ts';
import { createRoot, issueNodeCertificate } from '../ca/x509/issue.ts';
import { createRequest } from '../ca/x509/request.ts';
import { encoded } from '../cluster/cluster.ts';
import { put } from '../objects/parts.ts';
import type { Random } from '../objects/random.ts';
import { Keyring } from '../store/sealed.ts';
import type { Write } from '../store/port.ts';
import { recordWrite, textOf } from './manager/certificate-record.ts';
import { sealedWrite } from './manager/sealed-values.ts';
import { newStoreAuthority, newStoreIdentity } from './manager/store-identity.ts';

const DEFAULT_EXPIRY_MS = 90 * 86_400_000;
const NANO_PER_MS = 1e6;

export interface NewSwarm {
  identity: Identity;
  spec: SwarmSpec;
  availability: NodeSpec['Availability'];
  addressPools: string[];
  subnetSize: number;
  dataPathPort: number;
  /** Of this manager's member of the store. */
  peerUrl: string;
}

/** What the first manager of a swarm has, and what it writes into the store. */
export interface FirstThings {
  certPem: string;
  rootsPem: string;
  keys: KeyFile;
  unlockKey: Buffer | undefined;
  writes: Write[];
}

export function firstThings(swarm: NewSwarm, { now, random }: { now: number; random: Random }): FirstThings {
  const { identity, spec } = swarm;
  const root = createRoot(now);
  const state = { ...newRootState(root, random), forcedRotation: spec.CAConfig?.ForceRotate ?? 0 };
  const { requestPem, keyPem } = createRequest();
  const expiryMs = (spec.CAConfig?.NodeCertExpiry ?? 0) / NANO_PER_MS || DEFAULT_EXPIRY_MS;
  const certificate = issueNodeCertificate(root, requestPem, identity, { now, expiryMs });
  const storeAuthority = newStoreAuthority(now);
  const keyring = Keyring.generate();
  const unlockKey = spec.EncryptionConfig?.AutoLockManagers === true ? newUnlockKey(random) : undefined;
  const dates = { created: now, updated: now };
  const { node: id } = identity;
  const parts = [
    put('cluster', {
      id: identity.cluster,
      ...dates,
      spec,
      addressPools: swarm.addressPools,
      subnetSize: swarm.subnetSize,
      dataPathPort: swarm.dataPathPort,
    }),
    put('node', { id, ...dates, spec: { Role: 'manager', Availability: swarm.availability } }),
    put('nodeState', { id, role: 'manager', state: 'unknown', message: '', addr: '', since: now }),
  ];
  return {
    certPem: certificate.pem,
    rootsPem: state.certPem,
    keys: {
      keyPem,
      keyring,
      store: newStoreIdentity(storeAuthority, { identity, now, peerUrl: swarm.peerUrl }),
    },
    unlockKey,
    writes: [
      ...parts.map(encoded),
      sealedWrite(keyring, 'root', state),
      sealedWrite(keyring, 'storeAuthority', storeAuthority),
      sealedWrite(keyring, 'unlockKey', { key: unlockKey?.toString('base64') ?? '' }),
      recordWrite(id, { issuer: textOf(issuerOf(state)), validUntil: certificate.validUntil }),
    ],
  };
}
