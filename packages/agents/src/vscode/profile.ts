import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'vscode',
  title: 'VS Code',
  program: 'code',
  hosts: [],
  state: {
    writable: [],
    copied: [],
    readOnly: [],
  },
};
