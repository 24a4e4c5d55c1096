/** The id that GitHub's other interface knows an object by: opaque, and the same as long as the object lives. */
export function nodeId(type: string, id: number): string {
  return Buffer.from(`${type}${id}`).toString('base64');
}
