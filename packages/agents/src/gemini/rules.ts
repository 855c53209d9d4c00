import type { JsonObject } from '@palyra/primitives';
import { parse } from 'smol-toml';
import { unknownFormat } from '../json-settings.ts';
import { listOf, toolRule } from '../own-rules/listed-rules.ts';
import type { ClientRules, OwnRule } from '../own-rules/own-rule.ts';
import { readCommented, withoutComments } from './settings.ts';

const SHELL = 'run_shell_command';

/**
 * Policies in TOML, and tools that are left out in its settings. What is about its shell as a whole is left to Gemini: it holds
 * for any command, ours among them. A rule that allows is not weighed against one that denies, whatever their priorities.
 */
export const rules: ClientRules = {
  places: {
    ofUser: ['.gemini/settings.json', '.gemini/policies/*.toml'],
    ofProject: ['.gemini/settings.json', '.gemini/policies/*.toml'],
    ofSystem: ['/etc/gemini-cli/settings.json', '/etc/gemini-cli/policies/*.toml'],
  },
  read(text) {
    const isJson = withoutComments(text).trimStart().startsWith('{');
    return isJson ? ofSettings(readCommented(text)) : ofPolicies(text);
  },
};

function ofSettings(settings: JsonObject): readonly OwnRule[] {
  const excluded = [...listOf(settings, 'tools', 'exclude'), ...listOf(settings, 'excludeTools')];
  return excluded.flatMap((text): readonly OwnRule[] => {
    const { tool, about } = toolRule(text);
    if (about === undefined || !(tool === SHELL || tool === 'ShellTool')) return [];
    return [{ effect: 'deny', text, covers: { kind: 'beginning', text: about } }];
  });
}

function ofPolicies(text: string): readonly OwnRule[] {
  const { rule: all = [] } = parsed(text);
  if (!Array.isArray(all)) throw unknownFormat('rule is no list.');
  return all.flatMap((rule: unknown): readonly OwnRule[] => {
    const { decision, toolName, commandPrefix, commandRegex, argsPattern } = Object(rule) as Record<string, unknown>;
    if (decision === 'allow' || ![toolName].flat().some(mayBeShell)) return [];
    const effect = decision === 'ask_user' ? 'ask' : 'deny';
    // An expression of somebody else's is not run here, it may have no end: whoever has one is asked.
    if (commandRegex !== undefined || argsPattern !== undefined) {
      return [{ effect: 'ask', text: String(commandRegex ?? argsPattern), covers: { kind: 'any' } }];
    }
    return [commandPrefix].flat().flatMap((prefix): readonly OwnRule[] => {
      if (prefix === undefined) return [];
      if (typeof prefix !== 'string') throw unknownFormat('commandPrefix is no text.');
      return [{ effect, text: prefix, covers: { kind: 'beginning', text: prefix } }];
    });
  });
}

function mayBeShell(name: unknown): boolean {
  return name === undefined || name === SHELL || name === '*';
}

function parsed(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (cause) {
    throw unknownFormat('A policy is not TOML.', cause);
  }
}
