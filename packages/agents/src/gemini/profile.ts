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
    // SECURITY: T-15 — not `.gemini/tmp`: it starts programs from there (`tmp/bin/rg`), outside as well.
    writable: ['.gemini/oauth_creds.json', '.gemini/google_accounts.json'],
    copied: ['.gemini/installation_id'],
    readOnly: ['.gemini/settings.json', '.gemini/GEMINI.md'],
  },
};
