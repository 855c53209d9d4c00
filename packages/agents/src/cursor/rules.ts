import { listOf, readSettings, toolRule } from '../own-rules/listed-rules.ts';
import type { ClientRules, OwnRule } from '../own-rules/own-rule.ts';

/** `permissions.deny` of its command line program; rules that ask it has none. `Shell(curl:--upload*)` is program and arguments. */
export const rules: ClientRules = {
  places: { ofUser: ['.cursor/cli-config.json'], ofProject: ['.cursor/cli.json'], ofSystem: [] },
  read(text) {
    return listOf(readSettings(text), 'permissions', 'deny').flatMap((rule): readonly OwnRule[] => {
      const { tool, about = '*' } = toolRule(rule);
      if (tool === 'Read' || tool === 'Write') {
        return [{ effect: 'deny', text: rule, covers: { kind: 'path', pattern: about } }];
      }
      if (!tool.startsWith('Shell')) return [];
      const beginning = about.replace(/:\**$/, '').replace(':', ' ');
      return [{ effect: 'deny', text: rule, covers: { kind: 'beginning', text: beginning } }];
    });
  },
};
