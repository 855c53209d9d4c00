import type { AgentProfile } from '../client.ts';

/** Which model it uses is in its own settings, so it has no hosts here. */
export const profile: AgentProfile = {
  name: 'goose',
  title: 'goose',
  program: 'goose',
  hosts: [],
  state: {
    // SECURITY: T-15 — not its sessions: each holds extensions, which are commands, that run when somebody goes on with it.
    writable: [],
    copied: [],
    readOnly: ['.config/goose'],
  },
};
