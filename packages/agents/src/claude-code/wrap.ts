import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

/** Managed settings: no settings of a user or a project switch their hooks off. */
export const wrap: ClientWrap = {
  settings: (options) =>
    install
      .edits(options)
      .slice(0, 1)
      .map((edit) => ({ path: '/etc/claude-code/managed-settings.json', text: edit.add(undefined) })),
};
