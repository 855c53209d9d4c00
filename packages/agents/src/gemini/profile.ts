import type { AgentProfile } from '../client.ts';

export const profile: AgentProfile = {
  name: 'gemini',
  title: 'Gemini CLI',
  program: 'gemini',
  hosts: [
    'generativelanguage.googleapis.com:443',
    'cloudcode-pa.googleapis.com:443',
    'oauth2.googleapis.com:443',
    'accounts.google.com:443',
  ],
  state: {
    writable: ['.gemini/oauth_creds.json', '.gemini/google_accounts.json', '.gemini/tmp'],
    copied: ['.gemini/installation_id'],
    readOnly: ['.gemini/settings.json', '.gemini/GEMINI.md'],
  },
};
