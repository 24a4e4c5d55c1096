/** A table as `nft list table` prints it. */
export interface Listing {
  /** Everything but the elements, and but the chain of the administrator. */
  rules: string;
  /** Of each set and map that is not empty. */
  elements: Map<string, Set<string>>;
}

const ADMINISTRATORS = /\n\tchain user \{.*?\n\t\}\n/s;
const SET = /\n\t(?:set|map) (\S+) \{.*?\n\t\}\n/gs;
const ELEMENTS = /\n\t\telements = \{(.*?)\}\n/s;

/** Pure. A table that does not exist is empty. */
export function readListing(text: string): Listing {
  const elements = new Map<string, Set<string>>();
  const own = text.replace(ADMINISTRATORS, '\n');
  const rules = own.replaceAll(SET, (block: string, name: string) => {
    const list = ELEMENTS.exec(block)?.[1];
    if (list !== undefined) {
      elements.set(name, new Set(list.split(',').map((element) => element.trim())));
    }
    return block.replace(ELEMENTS, '\n');
  });
  return { rules, elements };
}
