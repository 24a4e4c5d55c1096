import type { Capability } from '../security/capabilities.ts';
import type { CgroupFacts } from './cgroup-facts.ts';
import type { Component, ComponentName } from './components.ts';

/** A resource limit of this process; null = unlimited. */
export interface HostRlimit {
  soft: number | null;
  hard: number | null;
}

/** What the daemon knows about the machine it runs on. Read once at start; nothing in here changes while it runs. */
export interface HostFacts {
  hostname: string;
  /** As `uname -r`. */
  kernelVersion: string;
  /** PRETTY_NAME and VERSION_ID of os-release(5). */
  operatingSystem: string;
  osVersion: string;
  /** As `uname -m`: x86_64, aarch64, ... */
  architecture: string;
  /** As images name it (GOARCH): amd64, arm64, ... */
  imageArchitecture: string;
  /** CPUs this process may run on. */
  cpus: number;
  memoryBytes: number;
  cgroup: CgroupFacts;
  cgroupNamespaces: boolean;
  userNamespaces: boolean;
  seccomp: boolean;
  apparmor: boolean;
  selinux: boolean;
  overlay: boolean;
  ipv4Forwarding: boolean;
  bridgeNfIptables: boolean;
  bridgeNfIp6tables: boolean;
  /** mount_setattr(2) and a runc that uses it: read-only binds can be read-only all the way down. */
  recursiveReadOnly: boolean;
  /** Exposed temperature counters of each CPU; masked in containers (moby GHSA-6fw5-f8r9-fgfm). */
  thermalThrottlePaths: string[];
  /** Capabilities that containers can get at all. */
  boundingSet: Capability[];
  /** Limits of this process by the names of `ulimits` (nofile, nproc, ...). */
  rlimits: Record<string, HostRlimit>;
  oomScoreAdj: number;
  components: Record<ComponentName, Component | null>;
  /** Sentences for the log and for /info; each names what is missing and what it costs. */
  warnings: string[];
}
