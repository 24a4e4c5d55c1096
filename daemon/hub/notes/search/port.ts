/** Texts that are found by their words. It forgets all when the daemon ends. Ids are whole numbers above 0. */
export interface TextIndex {
  /** In place of the text of this id. */
  put(id: number, text: IndexedText): void;
  remove(id: number): void;
  /** Ids of texts in which each word stands, the last one as the start of one; best first, at most `limit`. */
  find(words: readonly string[], limit: number): number[];
}

export interface IndexedText {
  title: string;
  /** Other names, and what it is filed under. */
  names: string;
  text: string;
}
