/** What log drivers tell receivers of a container. */
export interface LoggedContainer {
  id: string;
  /** Without a slash. */
  name: string;
  imageId: string;
  /** As the client named it. */
  imageName: string;
  createdNano: bigint;
  labels: Readonly<Record<string, string>>;
  /** `NAME=value` */
  env: readonly string[];
  path: string;
  args: readonly string[];
}
