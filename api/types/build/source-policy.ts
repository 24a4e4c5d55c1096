/** What sources a build may have, and which it gets in place of others (`sourcepolicy.Policy` of BuildKit). */
export interface SourcePolicy {
  rules: readonly SourceRule[];
}

export interface SourceRule {
  action: 'allow' | 'deny' | 'convert';
  selector: SourceSelector;
  /** What a source becomes; `identifier` `''` = that of the selector. Undefined: nothing is said. */
  updates?: { identifier: string; attrs: ReadonlyMap<string, string> };
}

/** A source is meant that has the identifier and all of the attributes. */
export interface SourceSelector {
  /** `docker-image://docker.io/library/busybox:*` */
  identifier: string;
  match: 'wildcard' | 'exact' | 'regex';
  constraints: readonly SourceConstraint[];
}

/** An attribute that a source lacks is `''`. */
export interface SourceConstraint {
  key: string;
  value: string;
  condition: 'equal' | 'notequal' | 'matches';
}
