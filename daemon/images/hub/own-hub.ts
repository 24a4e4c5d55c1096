/** The hub of this host, as far as the engine knows that a registry is its own. */
export interface OwnHub {
  /** Whether a registry's domain (`127.0.0.1:5010`) leads to it. */
  isOwn(domain: string): boolean;
  /** A blob of its that is a file on this host; undefined = it has none. Whoever asks may have it. */
  openFile(digest: string): Promise<HubFile | undefined>;
}

export interface HubFile extends AsyncDisposable {
  fd: number;
  size: number;
}
