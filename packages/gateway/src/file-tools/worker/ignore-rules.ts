import { compileGlob, type Glob } from './glob.ts';

/** The rules of one `.gitignore` or `.ignore`, which hold from its directory down. */
export interface IgnoreRules {
  /** Undefined when no rule says anything. The path is relative to the directory of the rules. */
  decide(path: string, isDirectory: boolean): 'ignored' | 'kept' | undefined;
}

const MAX_RULES = 2000;

/** As git reads it: the last rule that matches decides. A rule that cannot be read says nothing. */
export function parseIgnoreRules(text: string): IgnoreRules {
  const rules = text
    .split(/\r?\n/)
    .slice(0, MAX_RULES)
    .flatMap((line) => parseRule(line) ?? [])
    .toReversed();
  return {
    decide(path, isDirectory) {
      const found = rules.find((rule) => (isDirectory || !rule.directoriesOnly) && rule.glob(path));
      if (found === undefined) return undefined;
      return found.isNegated ? 'kept' : 'ignored';
    },
  };
}

interface Rule {
  readonly glob: Glob;
  readonly isNegated: boolean;
  readonly directoriesOnly: boolean;
}

function parseRule(line: string): Rule | undefined {
  const text = line.replace(/(?<!\\) +$/, '');
  if (text === '' || text.startsWith('#')) return undefined;
  const isNegated = text.startsWith('!');
  const pattern = isNegated ? text.slice(1) : text;
  const directoriesOnly = pattern.endsWith('/');
  const bare = directoriesOnly ? pattern.slice(0, -1) : pattern;
  // Braces mean nothing to git.
  const literal = bare.replace(/^\//, '').replace(/[{}]/g, '\\$&');
  const glob = compileGlob(bare.includes('/') ? literal : `**/${literal}`);
  return glob === undefined ? undefined : { glob, isNegated, directoriesOnly };
}
