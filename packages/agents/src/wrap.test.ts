import { describe, expect, test } from 'vitest';
import { CLIENT_NAMES, findClient } from './find-client.ts';
import { findWrapped, WRAP_PROFILES, wrappedBy } from './find-wrapped.ts';

const OPTIONS = {
  hookCommand: '/opt/palyra-hook x --listener 127.0.0.1:3128 || exit 2',
  timeoutSeconds: 1860,
  mcpCommand: ['/usr/bin/env', 'PALYRA_LISTENER=127.0.0.1:3128', '/opt/palyra', 'mcp', 'serve'],
} as const;

test.each([
  ['claude', 'claude-code'],
  ['/usr/local/bin/codex', 'codex'],
  ['codex.js', 'codex'],
  ['cursor-agent', 'cursor'],
  ['gemini', 'gemini'],
  ['goose', 'goose'],
  ['opencode', 'opencode'],
  ['bash', 'generic'],
  ['', 'generic'],
  ['code', 'generic'],
])('%j is wrapped as %s', (program, expected) => {
  expect(wrappedBy(program).profile.name).toBe(expected);
});

test('a profile is found by its name, by its program, and not at all', () => {
  expect(WRAP_PROFILES).toEqual(['claude-code', 'codex', 'cursor', 'gemini', 'goose', 'opencode', 'generic']);
  expect(findWrapped('cursor-agent')?.profile.name).toBe('cursor');
  expect(findWrapped('vscode')).toBeUndefined();
  expect(findWrapped('nobody')).toBeUndefined();
});

describe.each(WRAP_PROFILES.filter((name) => findWrapped(name)?.hooks !== undefined))('%s in a box', (name) => {
  const { wrap, profile } = findClient(name);
  const files = [...wrap.settings(OPTIONS), ...(wrap.files?.(OPTIONS) ?? [])];

  test('has its hooks on by themselves, before a tool, in the form that fails closed', () => {
    const hooked = files.filter(({ text }) => text.includes('palyra-hook'));
    expect(hooked).not.toEqual([]);
    for (const { text } of hooked) expect(JSON.stringify(JSON.parse(text))).toContain('|| exit 2');
    expect(hooked.map(({ text }) => text).join()).toContain(findClient(name).hooks?.before);
  });

  test('writes no settings where anybody else’s are', () => {
    for (const { path } of wrap.settings(OPTIONS)) expect(path).toMatch(/^\/etc\/[a-z-]+\/[^/]+$/);
    const theirs = [...profile.state.writable, ...profile.state.copied];
    for (const { path } of wrap.files?.(OPTIONS) ?? []) {
      expect(theirs.filter((other) => path === other || path.startsWith(`${other}/`))).toEqual([]);
    }
  });
});

test.each(CLIENT_NAMES)('nothing that %s writes for good is settings, or runs later outside', (name) => {
  const { writable, copied, readOnly } = findClient(name).profile.state;
  const odd =
    /settings|hooks|mcp|config|rules|plugins|commands|agents|skills|shell|bin|\.md$|cache|tmp|goose\/sessions/i;
  expect(writable.filter((path) => odd.test(path.replace(/^\.config\//, '')))).toEqual([]);
  expect(new Set([...writable, ...copied, ...readOnly]).size).toBe(writable.length + copied.length + readOnly.length);
});
