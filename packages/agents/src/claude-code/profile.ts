import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'claude-code',
  title: 'Claude Code',
  program: 'claude',
  hosts: ['api.anthropic.com:443', 'console.anthropic.com:443', 'claude.ai:443', 'platform.claude.com:443'],
  state: {
    writable: ['.claude/.credentials.json', '.claude/projects', '.claude/todos'],
    copied: ['.claude.json'],
    readOnly: [
      '.claude/settings.json',
      '.claude/settings.local.json',
      '.claude/CLAUDE.md',
      '.claude/agents',
      '.claude/commands',
      '.claude/skills',
    ],
  },
};
