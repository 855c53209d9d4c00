import type { AgentProfile } from '../client.ts';

/** Which model it uses is in its own settings, so it has no hosts here. */
export const profile: AgentProfile = {
  name: 'goose',
  title: 'goose',
  program: 'goose',
  hosts: [],
  state: {
    writable: ['.local/share/goose/sessions'],
    copied: [],
    readOnly: ['.config/goose'],
  },
};
