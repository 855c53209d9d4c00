import type { Hint, HintKind } from '@palyra/sandbox';
import { writtenName } from '../tool-call-config.ts';

/**
 * The sandbox names fields of its profile, which nobody who calls can reach: they have fields of the call, file tools that ask,
 * and an operator with settings.
 */
export function withCallersFixes(hints: readonly Hint[]): readonly Hint[] {
  return hints.map((hint) => ({ ...hint, fix: fixOf(hint) }));
}

function fixOf({ kind, limit, fix }: Hint): string {
  if (limit === 'wallMs') return MORE_TIME;
  if (limit !== undefined) return `Use less, or have the operator raise ${settingOf(limit)} in palyra.toml.`;
  return FIXES[kind] ?? fix;
}

const settingOf = (limit: string) => `process_runner.${writtenName(limit)}`;

const MORE_TIME =
  'Say how long it may take (--timeout, or the field timeout_ms); ' +
  `${settingOf('wallMs')} and tool_calls.execution_timeout_ms in palyra.toml are the most.`;

const FIXES: Readonly<Partial<Record<HintKind, string>>> = {
  unix_sockets: 'TypeScript also runs as: node file.ts. Run what cannot do without them yourself, outside the sandbox.',
  protected_path:
    'Write it with palyra.fs.write or palyra.fs.apply_patch, which ask, or leave it as it is; cp and rm instead of mv work across.',
  read_only: 'Write into the workspace; install programs into the project.',
  hidden_home: 'Put into the workspace what may be seen.',
};
