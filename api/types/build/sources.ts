import type { SourcePolicy } from './source-policy.ts';

/** An image that a client asks for while it makes a graph. */
export interface ImageQuestion {
  reference: string;
  /** Undefined: that of this host. */
  platform?: { os: string; architecture: string; variant: string };
  mode: 'local' | 'pull';
  /** As progress shows it; `''` = by its name. */
  name: string;
  /** Besides those of the build. */
  policies: readonly SourcePolicy[];
}

/** A source that a client asks for while it makes a graph, as graphs name it. */
export interface SourceQuestion extends Omit<ImageQuestion, 'reference'> {
  source: { identifier: string; attrs: ReadonlyMap<string, string> };
}

/** What is known of it beside its files; `source`: what a policy has in its place. */
export interface AnsweredSource {
  source: SourceQuestion['source'];
  image?: { digest: string; config: Buffer };
  git?: { ref: string; commit: string };
  http?: { digest: string; fileName: string };
}

export interface AnsweredImage {
  /** What was asked for, or what a policy has in its place. */
  reference: string;
  /** Of its manifest; `''` = none is known. */
  digest: string;
  config: Buffer;
}

/** What a client that has a policy is asked: may this source be had, and what is known of it so far. */
export interface PolicyQuestion {
  /** Of images: `linux`, `amd64`. */
  platform?: ImageQuestion['platform'];
  known: AnsweredSource;
}

/** What it answers; `more`: it wants to know more of the source first. */
export type PolicyAnswer =
  | { kind: 'allow' }
  | { kind: 'deny'; action: string; messages: readonly string[] }
  | { kind: 'convert'; source: SourceQuestion['source'] }
  | { kind: 'more'; question: SourceQuestion };
