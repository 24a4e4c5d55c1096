/** An image repository `{owner}/{repo}`. Records `repository/<owner>/<name>`, both in lower case. */
export interface Repository {
  id: number;
  /** As they were written when they were made; names do not differ by case. */
  owner: RepositoryOwner;
  name: string;
  description: string | null;
  isPrivate: boolean;
  createdMs: number;
  updatedMs: number;
}

export interface RepositoryOwner {
  kind: 'user' | 'organization';
  name: string;
  id: number;
}
