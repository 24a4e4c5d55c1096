import type { CopyFiles } from './op.ts';

/** All files of a tree at position 1, as the first layer of another. */
export const WHOLE: CopyFiles = {
  action: 'copy',
  from: 1,
  sources: ['/'],
  destination: '/',
  owner: '',
  chmod: '',
  unpacks: false,
  keepsParents: false,
  exclude: [],
};
