import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

/** It has no place of an administrator: the files lie in its home, read-only. */
export const wrap: ClientWrap = {
  settings: () => [],
  files: (options) => install.edits(options).map((edit) => ({ path: edit.path, text: edit.add(undefined) })),
};
