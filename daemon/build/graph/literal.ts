/** A path that is meant as it is, where patterns are read. Pure. */
export function literal(path: string): string {
  return path.replaceAll(/[*?[\\]/g, String.raw`\$&`);
}
