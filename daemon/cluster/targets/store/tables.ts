import type { TargetGroup } from '../groups/target-group.ts';
import type { Certificate } from '../certificates/certificate.ts';
import type { Target, TargetHealth } from '../registrations/target.ts';
import type { Listener, Service } from '../services/service.ts';
import { Table } from './table.ts';
import type { TargetStore } from './port.ts';

/** Which record a name or a client token has led to. */
export interface Pointer {
  id: string;
}

/** All records of target groups and their traffic. */
export interface Tables {
  groups: Table<TargetGroup>;
  /** By group and name: two managers cannot give a name twice. `g/<name>`, `s/<name>`. */
  names: Table<Pointer>;
  /** `g/<SHA-256 of the client token>`, and so for services and listeners. */
  tokens: Table<Pointer>;
  /** `<group>/<target key>`. */
  targets: Table<Target>;
  health: Table<TargetHealth>;
  services: Table<Service>;
  /** `<service>/<listener>`. */
  listeners: Table<Listener>;
  certificates: Table<Certificate>;
}

export function openTables(store: TargetStore): Tables {
  return {
    groups: new Table(store, 'target-group/'),
    names: new Table(store, 'target-name/'),
    tokens: new Table(store, 'target-token/'),
    targets: new Table(store, 'target/'),
    health: new Table(store, 'target-health/'),
    services: new Table(store, 'target-service/'),
    listeners: new Table(store, 'target-listener/'),
    certificates: new Table(store, 'target-certificate/'),
  };
}
