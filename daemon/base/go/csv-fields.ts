/** Comma-separated, with double quotes around a field that has commas; two of them within are one. Pure. */
export function csvFields(text: string): string[] {
  const fields = text.match(/"(?:[^"]|"")*"|[^,]+/g) ?? [];
  return fields.map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part));
}
