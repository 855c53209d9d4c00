import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'cursor',
  title: 'Cursor',
  program: 'cursor-agent',
  hosts: ['api2.cursor.sh:443', 'api3.cursor.sh:443', 'cursor.com:443', 'authenticator.cursor.sh:443'],
  state: {
    writable: ['.config/cursor/auth.json', '.cursor/chats'],
    copied: ['.cursor/cli-config.json'],
    readOnly: ['.cursor/hooks.json', '.cursor/mcp.json', '.cursor/rules'],
  },
};
