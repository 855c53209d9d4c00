// T-14, T-15, T-58: a patch names a file in a line that Codex reads as a header and its hook does not, so that the file is
// written and nobody was asked about it.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findClient } from '@palyra/agents';
import { expect, test } from 'vitest';
import { hookCodex, openCodexHouse, resultsOnRecord, runCodex } from '../e2e/codex-session.ts';
import { patch } from '../e2e/fake-model.ts';

/** Codex trims a header by Unicode's blanks, U+0085 among them; U+2028 is none that ends a line to it. */
const NEXT_LINE = '\u0085';
const SEPARATOR = '\u2028';
const BYTE_ORDER = '\ufeff';

function actOf(...lines: readonly string[]) {
  const event = findClient('codex').hooks?.readEvent({
    hook_event_name: 'PreToolUse',
    session_id: 'one',
    cwd: '/work',
    tool_name: 'apply_patch',
    tool_input: { command: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') },
  });
  return event?.kind === 'before' ? event.act : undefined;
}

const HARMLESS = ['*** Add File: a.txt', '+x'];

test.each([
  ['behind a blank that only Codex trims', `${NEXT_LINE}*** Add File: .git/hooks/pre-commit`],
  ['in front of one', `*** Add File: .env.d/.env${NEXT_LINE}`],
  ['with one on both sides', `${NEXT_LINE} *** Delete File: .git/config ${NEXT_LINE}`],
  ['with a separator in its name', `*** Add File: x${SEPARATOR}/../../outside.txt`],
  ['with a paragraph in its name', '*** Move to: .git/hooks/x\u2029'],
  ['behind a mark that Codex keeps', `*** Update File: link${BYTE_ORDER}`],
])('SECURITY: T-15 — a file that is named %s is not left out', (_how, line) => {
  expect(actOf(...HARMLESS, line, '+x')).toEqual({ kind: 'unknown' });
});

test('what is plain is read as before, and lines that are added or taken away name nothing', () => {
  const inner = ['+*** Add File: not-me', '-*** Delete File: nor me', `+${NEXT_LINE}*** Add File: nor me`];
  expect(actOf(...HARMLESS, ...inner, '  *** Update File: b c.txt \r', '*** Move to: d/é.txt')).toEqual({
    kind: 'write',
    paths: ['/work/a.txt', '/work/b c.txt', '/work/d/é.txt'],
  });
});

test('SECURITY: T-58 — Codex itself writes none of them while nobody has said yes', async () => {
  await using house = await openCodexHouse({ config: () => '[approvals]\nunattended = "deny"\n' });
  await hookCodex(house);
  mkdirSync(join(house.workspace, '.git/hooks'), { recursive: true });
  const turns = [
    patch('*** Add File: a.txt', '+x', `${NEXT_LINE}*** Add File: .git/hooks/pre-commit`, '+evil'),
    patch('*** Add File: b.txt', '+x', `*** Add File: x${SEPARATOR}/../../outside.txt`, '+evil'),
    patch('*** Add File: c.txt', '+x'),
  ];
  const session = await runCodex(house, turns);
  const isThere = (path: string) => existsSync(join(house.workspace, path));
  expect({ hook: isThere('.git/hooks/pre-commit'), outside: isThere('../outside.txt') }).toEqual({
    hook: false,
    outside: false,
  });
  expect(session.outputOf(2)).toContain('A c.txt');
  const record = (await resultsOnRecord(house)).map((result) => [result?.tool, result?.decision?.reasonCode]);
  expect(record).toEqual([
    ['agent.unknown', 'approval_required'],
    ['agent.unknown', 'approval_required'],
    ['agent.write', 'allowed'],
  ]);
}, 60_000);
