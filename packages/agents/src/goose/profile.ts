import type { AgentProfile } from '../client.ts';

/** Which model it uses is in its own settings, so it has no hosts here. */
export const profile: AgentProfile = {
  name: 'goose',
  title: 'goose',
  program: 'goose',
  hosts: [],
  state: {
    writable: ['.local/share/goose', '.local/state/goose'],
    readOnly: ['.config/goose', '.agents/plugins'],
  },
};
