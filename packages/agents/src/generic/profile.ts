import type { AgentProfile } from '../client.ts';

/** Any program. Nothing is known of it, so it has no hosts, no state and no hooks: its box is all. */
export const profile: AgentProfile = {
  name: 'generic',
  title: 'any program',
  program: '',
  hosts: [],
  state: {
    writable: [],
    copied: [],
    readOnly: [],
  },
};
