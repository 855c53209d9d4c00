import { listOf, readSettings, toolRule } from '../own-rules/listed-rules.ts';
import type { ClientRules, CommandPattern, OwnRule } from '../own-rules/own-rule.ts';
import { matchesWild } from '../own-rules/wild-text.ts';

/**
 * `permissions.deny` and `permissions.ask` of each of its settings. It compares them with the command that the hook gave it,
 * not with the one that the model wrote (its hooks reference, `updatedInput`).
 */
export const rules: ClientRules = {
  places: {
    ofUser: ['.claude/settings.json', '.claude/settings.local.json'],
    ofProject: ['.claude/settings.json', '.claude/settings.local.json'],
    ofSystem: ['/etc/claude-code/managed-settings.json', '/etc/claude-code/managed-settings.d/*.json'],
  },
  read(text) {
    const settings = readSettings(text);
    return (['deny', 'ask'] as const).flatMap((effect) =>
      listOf(settings, 'permissions', effect).flatMap((rule): readonly OwnRule[] => {
        const covers = patternOf(rule);
        return covers === undefined ? [] : [{ effect, text: rule, covers }];
      }),
    );
  },
};

/** Rules for files hold for commands that are known to read or write them, too. */
const FILE_TOOLS: ReadonlySet<string> = new Set(['Read', 'Edit', 'Write']);

/** Undefined: it is about something else. */
function patternOf(rule: string): CommandPattern | undefined {
  const { tool, about } = toolRule(rule);
  if (FILE_TOOLS.has(tool)) return about === undefined ? undefined : { kind: 'path', pattern: about };
  if (!matchesWild('Bash', tool)) return tool.startsWith('Bash(') ? { kind: 'any' } : undefined;
  if (about === undefined || /^(?::?\*)?$/.test(about.trim())) return { kind: 'any' };
  const [, beginning] = /^(.*?)(?::\*| \*)$/s.exec(about) ?? [];
  return beginning === undefined ? { kind: 'whole', text: about.trim() } : { kind: 'beginning', text: beginning };
}
