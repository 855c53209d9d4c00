import { AgentsError } from './agents-error.ts';
import { readEvent as readClaudeEvent } from './claude-code/event.ts';
import { install as installClaude } from './claude-code/install.ts';
import { profile as claudeCode } from './claude-code/profile.ts';
import { reply as replyToClaude } from './claude-code/reply.ts';
import { rules as rulesOfClaude } from './claude-code/rules.ts';
import { hookSwitch as switchOfClaude } from './claude-code/switch.ts';
import { wrap as wrapClaude } from './claude-code/wrap.ts';
import type { AgentClient, ClientWrap } from './client.ts';
import { readEvent as readCodexEvent } from './codex/event.ts';
import { install as installCodex } from './codex/install.ts';
import { profile as codex } from './codex/profile.ts';
import { reply as replyToCodex } from './codex/reply.ts';
import { rules as rulesOfCodex } from './codex/rules.ts';
import { trust as trustOfCodex } from './codex/trust.ts';
import { wrap as wrapCodex } from './codex/wrap.ts';
import { readEvent as readCursorEvent } from './cursor/event.ts';
import { install as installCursor } from './cursor/install.ts';
import { profile as cursor } from './cursor/profile.ts';
import { reply as replyToCursor } from './cursor/reply.ts';
import { rules as rulesOfCursor } from './cursor/rules.ts';
import { wrap as wrapCursor } from './cursor/wrap.ts';
import { readEvent as readGeminiEvent } from './gemini/event.ts';
import { install as installGemini } from './gemini/install.ts';
import { profile as gemini } from './gemini/profile.ts';
import { reply as replyToGemini } from './gemini/reply.ts';
import { rules as rulesOfGemini } from './gemini/rules.ts';
import { hookSwitch as switchOfGemini } from './gemini/switch.ts';
import { wrap as wrapGemini } from './gemini/wrap.ts';
import { readEvent as readGooseEvent } from './goose/event.ts';
import { install as installGoose } from './goose/install.ts';
import { profile as goose } from './goose/profile.ts';
import { reply as replyToGoose } from './goose/reply.ts';
import { wrap as wrapGoose } from './goose/wrap.ts';
import { install as installOpencode } from './opencode/install.ts';
import { profile as opencode } from './opencode/profile.ts';
import { wrap as wrapOpencode } from './opencode/wrap.ts';
import { install as installVscode } from './vscode/install.ts';
import { profile as vscode } from './vscode/profile.ts';

/** It is no program that a box could be put around by itself. */
const NOTHING: ClientWrap = { settings: () => [] };

const CLIENTS: readonly AgentClient[] = [
  {
    profile: claudeCode,
    hooks: {
      readEvent: readClaudeEvent,
      reply: replyToClaude,
      before: 'PreToolUse',
      canRewrite: true,
      canAsk: true,
      rules: rulesOfClaude,
      switch: switchOfClaude,
    },
    install: installClaude,
    wrap: wrapClaude,
  },
  {
    profile: codex,
    hooks: {
      readEvent: readCodexEvent,
      reply: replyToCodex,
      before: 'PreToolUse',
      canRewrite: true,
      canAsk: false,
      rules: rulesOfCodex,
      trust: trustOfCodex,
    },
    install: installCodex,
    wrap: wrapCodex,
  },
  {
    profile: cursor,
    hooks: {
      readEvent: readCursorEvent,
      reply: replyToCursor,
      before: 'preToolUse',
      canRewrite: true,
      canAsk: false,
      rules: rulesOfCursor,
    },
    install: installCursor,
    wrap: wrapCursor,
  },
  {
    profile: gemini,
    hooks: {
      readEvent: readGeminiEvent,
      reply: replyToGemini,
      before: 'BeforeTool',
      canRewrite: true,
      canAsk: true,
      rules: rulesOfGemini,
      switch: switchOfGemini,
    },
    install: installGemini,
    wrap: wrapGemini,
  },
  {
    profile: goose,
    hooks: { readEvent: readGooseEvent, reply: replyToGoose, before: 'PreToolUse', canRewrite: false, canAsk: false },
    install: installGoose,
    wrap: wrapGoose,
  },
  { profile: opencode, install: installOpencode, wrap: wrapOpencode },
  { profile: vscode, install: installVscode, wrap: NOTHING },
];

export const CLIENT_NAMES: readonly string[] = CLIENTS.map(({ profile }) => profile.name);

/** Throws `agents.unknown_client`. */
export function findClient(name: string): AgentClient {
  const found = CLIENTS.find(({ profile }) => profile.name === name);
  if (found !== undefined) return found;
  throw new AgentsError('agents.unknown_client', 'There is no such agent here.', {
    fix: `One of: ${CLIENT_NAMES.join(', ')}`,
  });
}
