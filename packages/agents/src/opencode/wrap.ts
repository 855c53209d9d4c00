import type { ClientWrap } from '../client.ts';
import { install } from './install.ts';

const PLACE = '/etc/palyra-opencode/opencode.json';

/** No hooks: its commands run in its own box, and Palyra's tools are there over MCP. */
export const wrap: ClientWrap = {
  settings: (options) => install.edits(options).map((edit) => ({ path: PLACE, text: edit.add(undefined) })),
  environment: { OPENCODE_CONFIG: PLACE },
};
