/** What a client asks of an operation on target groups: the parts of its request. */
export interface TargetsRequest {
  /** Identifiers of the path, decoded, by name: an id or an ARN each. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Parsed JSON; undefined = there was none. */
  body: unknown;
}

/** One operation: its answer is JSON. Throws EngineError; InvalidFieldsError has the list of fields. */
export type TargetsOperation = (request: TargetsRequest) => object | Promise<object>;

/** Operations on target groups, services and listeners, in the shapes of Amazon VPC Lattice 2022-11-30. */
export interface TargetsPort {
  createTargetGroup: TargetsOperation;
  getTargetGroup: TargetsOperation;
  listTargetGroups: TargetsOperation;
  updateTargetGroup: TargetsOperation;
  deleteTargetGroup: TargetsOperation;
  registerTargets: TargetsOperation;
  deregisterTargets: TargetsOperation;
  listTargets: TargetsOperation;
  listTags: TargetsOperation;
  tagResource: TargetsOperation;
  untagResource: TargetsOperation;
  createService: TargetsOperation;
  getService: TargetsOperation;
  listServices: TargetsOperation;
  updateService: TargetsOperation;
  deleteService: TargetsOperation;
  createListener: TargetsOperation;
  getListener: TargetsOperation;
  listListeners: TargetsOperation;
  updateListener: TargetsOperation;
  deleteListener: TargetsOperation;
}

/** What is signed of a request. */
export interface SignedParts {
  method: string;
  /** Path and query as they came. */
  target: string;
  /** By names in lower case, as node:http gives them. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: Buffer;
}

/** Pairs of keys for clients that sign their requests. */
export interface AccessKeysPort {
  /** Answers the secret, this once. */
  create(body: unknown): Promise<object>;
  list(): object;
  remove(id: string): Promise<object>;
  /** Name of the user whose key has signed a request. Throws forbidden with the original's name of the error. */
  userOf(parts: SignedParts): string;
}

/** Certificates of listeners. Their keys go in and never come out. */
export interface CertificatesPort {
  /** Answers its ARN. */
  import(body: unknown): Promise<object>;
  list(): object;
  /** `identifier`: id or ARN. Throws not_found. */
  get(identifier: string): object;
  remove(identifier: string): Promise<object>;
}

/** What HTTP needs of target groups. */
export interface ClusterTargetsPort {
  operations: TargetsPort;
  certificates: CertificatesPort;
  keys: AccessKeysPort;
}
