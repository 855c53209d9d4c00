import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { type ConfigEntry, parseGitConfig } from './git-config.ts';
import type { JudgeContext } from './judge-entry.ts';
import type { Sighting } from './look-into-directory.ts';
import type { Entry } from './read-entries.ts';

/**
 * What the operator's own links and configuration lead to inside the workspace: the file behind `CLAUDE.md -> docs/ai.md`,
 * the directory of `core.hooksPath`, an included configuration. Also where nothing is yet.
 */
export function pathsLedTo(entries: ReadonlyMap<string, Entry>, context: JudgeContext): readonly Sighting[] {
  const found = [...entries.values()].flatMap((entry) => [...behindLink(entry, context), ...namedInConfig(entry)]);
  const inside = found.filter(({ path }) => context.roots.some((root) => path !== root && isAtOrBelow(path, root)));
  return [...new Map(inside.map((sighting) => [sighting.path, sighting])).values()].filter(
    ({ path }) => !entries.has(path),
  );
}

function behindLink({ path, kind, target, rule, reason }: Entry, { realPath }: JudgeContext): readonly Sighting[] {
  if (kind !== 'link' || target === undefined || rule === 'pointer') return [];
  const hold = rule === 'config' ? 'never' : 'where_free';
  return [{ path: realPath(resolve(dirname(path), target)), rule, hold, reason }];
}

function namedInConfig(entry: Entry): readonly Sighting[] {
  if (entry.rule !== 'config' || entry.bytes === undefined) return [];
  const keys = parseGitConfig(entry.bytes.toString('utf8')) ?? [];
  return keys.flatMap((key) => sightingOf(key, entry.path));
}

function sightingOf({ section, key, value = '' }: ConfigEntry, config: string): readonly Sighting[] {
  if (value === '' || value.startsWith('~')) return [];
  if (section === 'core' && key === 'hookspath') {
    const path = isAbsolute(value) ? value : join(workTreeOf(dirname(config)), value);
    return [{ path: resolve(path), rule: 'hooks', hold: 'where_free', reason: 'Git runs it.' }];
  }
  if ((section === 'include' || section === 'includeif') && key === 'path') {
    const path = resolve(dirname(config), value);
    return [{ path, rule: 'config', hold: 'never', reason: 'Git starts programs that it names.' }];
  }
  return [];
}

/** Hooks are run from the top of the work tree, or in a bare repository. */
function workTreeOf(gitDirectory: string): string {
  return basename(gitDirectory) === '.git' ? dirname(gitDirectory) : gitDirectory;
}
