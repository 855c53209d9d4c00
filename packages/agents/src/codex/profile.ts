import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'codex',
  title: 'Codex',
  program: 'codex',
  hosts: ['api.openai.com:443', 'auth.openai.com:443', 'chatgpt.com:443'],
  state: {
    writable: ['.codex/auth.json', '.codex/sessions', '.codex/history.jsonl'],
    copied: ['.codex/config.toml'],
    readOnly: ['.codex/hooks.json', '.codex/AGENTS.md', '.codex/rules', '.codex/prompts', '.codex/skills'],
  },
};
