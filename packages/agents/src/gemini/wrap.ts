import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

/** System settings win over those of users and projects. */
export const wrap: ClientWrap = {
  settings: (options) =>
    install.edits(options).map((edit) => ({ path: '/etc/gemini-cli/settings.json', text: edit.add(undefined) })),
};
