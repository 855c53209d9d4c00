import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

/** Hooks from the administrator's place; MCP servers have none, so that file is the user's own place. */
export const wrap: ClientWrap = {
  settings: (options) => [{ path: '/etc/cursor/hooks.json', text: install.edits(options)[0]?.add(undefined) ?? '' }],
  files: (options) =>
    install
      .edits(options)
      .slice(1)
      .map((edit) => ({ path: edit.path, text: edit.add(undefined) })),
};
