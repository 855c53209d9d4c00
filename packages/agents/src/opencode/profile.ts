import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'opencode',
  title: 'opencode',
  program: 'opencode',
  hosts: ['opencode.ai:443', 'models.dev:443'],
  state: {
    writable: ['.local/share/opencode/auth.json', '.local/share/opencode/storage'],
    copied: [],
    readOnly: ['.config/opencode'],
  },
};
