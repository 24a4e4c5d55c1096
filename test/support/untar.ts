import { TarParser, type TarMember } from '../../storage/layers/tar/parser.ts';

/** A member of a tar read back, with its content. */
export interface ReadMember extends TarMember {
  content: Buffer;
}

/** All members of a tar. The parser is the engine's own; other people's tar programs are asked by the client tests. */
export function untar(bytes: Buffer): ReadMember[] {
  const members: ReadMember[] = [];
  const parser = new TarParser(
    {
      raw: () => undefined,
      member: (member) => members.push({ ...member, content: Buffer.alloc(0) }),
      data: (data) => {
        const last = members.at(-1);
        if (last !== undefined) {
          last.content = Buffer.concat([last.content, data]);
        }
      },
      memberEnd: () => undefined,
    },
    'test',
  );
  parser.push(bytes);
  parser.end();
  return members;
}

/** `name` of each member, in order. */
export function namesIn(bytes: Buffer): string[] {
  return untar(bytes).map(({ name }) => name);
}
