import type { ShownPrompt } from './shown-prompt.ts';

/** One question as palyrad shows it. */
export function promptForTests(more: Partial<ShownPrompt> = {}): ShownPrompt & { readonly format: string } {
  return {
    format: 'palyra.prompt/2',
    approval_id: '01K5ZZZZZZZZZZZZZZZZZZ7Q4F',
    what: {
      sentence: 'agent:local wants to run a command from shop.',
      risk: { level: 'high', reasons: ['It leaves the box.'] },
      action: { kind: 'command', text: 'make deploy\n\\u{1B}[2K', left_out: 0 },
      cwd: '/work/shop',
      workspace: { name: 'shop', path: '/work/shop' },
      session: 'S1',
      hosts: [{ shown: 'example.org:443', warnings: ['new here'] }],
      secrets: [],
      tier: 'B',
      bound: [{ name: '/usr/bin/make', sha256: 'ab'.repeat(32) }],
      not_bound: ['what make starts'],
      subject: 'cd'.repeat(32),
      left_out: 0,
    },
    policy: { ids: ['leave-the-box'], reason: 'It leaves the box.' },
    needs: { approvers: 1, assurance: 'same_host_key' },
    options: [
      { scope: 'once', covers: ['this one call, within 10 minutes'], pattern: null, holds_ms: 600_000 },
      {
        scope: 'session',
        covers: ['until the session ends'],
        pattern: '{"effects":[],"principal":"agent:local","session":"S1","workspace":"shop"}',
        holds_ms: 3_600_000,
      },
    ],
    agent_says: { text: 'I need to deploy.', note: 'Written by the agent. Nothing in it was checked.' },
    asked_at: 1_000_000,
    expires_at: 2_800_000,
    ...more,
  };
}
