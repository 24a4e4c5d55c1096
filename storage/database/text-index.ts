import Sqlite from 'better-sqlite3';

/** A text and what else it is found by. */
export interface IndexedText {
  title: string;
  names: string;
  text: string;
}

/** How much more a word counts in the title and in the names than in the text. */
const WEIGHTS = '8.0, 4.0, 1.0';

/**
 * Texts that are found by their words (SQLite FTS5), in memory: an index over what is kept elsewhere, made anew by each
 * daemon. Only the index is kept, not the texts. It is opened at the first use.
 */
export class TextIndex implements Disposable {
  #connection: Sqlite.Database | undefined;

  put(id: number, { title, names, text }: IndexedText): void {
    this.#open()
      .prepare('INSERT OR REPLACE INTO texts (rowid, title, names, body) VALUES (?, ?, ?, ?)')
      .run(id, title, names, text);
  }

  remove(id: number): void {
    this.#open().prepare('DELETE FROM texts WHERE rowid = ?').run(id);
  }

  /** Ids of texts in which each word stands, the last one as the start of one; best first. */
  find(words: readonly string[], limit: number): number[] {
    const found = words.filter((word) => /[\p{L}\p{N}]/u.test(word));
    if (found.length === 0) {
      return [];
    }
    // In quotes each is text, whatever it means to FTS5.
    const match = `${found.map((word) => `"${word.replaceAll('"', '""')}"`).join(' ')}*`;
    return this.#open()
      .prepare<[string, number], { rowid: number }>(
        `SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, ${WEIGHTS}), rowid LIMIT ?`,
      )
      .all(match, limit)
      .map(({ rowid }) => rowid);
  }

  [Symbol.dispose](): void {
    this.#connection?.close();
  }

  #open(): Sqlite.Database {
    if (this.#connection === undefined) {
      this.#connection = new Sqlite(':memory:');
      this.#connection.exec(
        "CREATE VIRTUAL TABLE texts USING fts5(title, names, body, content='', contentless_delete=1, " +
          "tokenize='unicode61 remove_diacritics 2')",
      );
    }
    return this.#connection;
  }
}
