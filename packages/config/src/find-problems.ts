import { visibleText } from '@palyra/primitives';
import type { TomlTable } from 'smol-toml';
import type { z } from 'zod';
import type { ConfigProblem } from './config-error.ts';
import { type KeyPath, locateKeys } from './locate-keys.ts';
import { nearestName } from './nearest-name.ts';
import { findSection, findSetting, SECTIONS, SETTINGS, type Setting } from './settings.ts';
import { createPositionFinder, type TextPosition } from './text-position.ts';

const LONGEST_SHOWN = 60;

type Complaint = Pick<ConfigProblem, 'code' | 'message' | 'fix'>;

/** The schema's complaints, each once, in the order of the text, in words for the person who wrote it. */
export function findProblems(
  text: string,
  table: TomlTable,
  issues: readonly z.core.$ZodIssue[],
): readonly ConfigProblem[] {
  const positionAt = createPositionFinder(text);
  const keys = locateKeys(text);
  const problems = new Map<string, ConfigProblem>();

  for (const { path, isUnknown } of issues.flatMap(offendingPaths)) {
    const location = keys.find(path);
    // A wrong value is shown at the value, an unknown key at the key.
    const offset = (isUnknown ? undefined : location?.value?.start) ?? location?.key.start ?? 0;
    const complaint = isUnknown ? unknownKey(path, valueAt(table, path)) : invalidValue(path, valueAt(table, path));
    const position: TextPosition = positionAt(offset);
    const key = path.map((segment) => visibleText(String(segment))).join('.');
    if (!problems.has(key)) problems.set(key, { ...complaint, key, ...position });
  }
  return [...problems.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function offendingPaths(issue: z.core.$ZodIssue): readonly { path: KeyPath; isUnknown: boolean }[] {
  const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment));
  if (issue.code !== 'unrecognized_keys') return [{ path, isUnknown: false }];
  return issue.keys.map((key) => ({ path: [...path, key], isUnknown: true }));
}

function unknownKey(path: KeyPath, value: unknown): Complaint {
  const name = String(path.at(-1));
  const [section] = path;
  if (path.length === 1) {
    const what = isTable(value) ? `section [${visibleText(name)}]` : `key ${quote(name)} outside any section`;
    return { code: 'config.unknown_key', message: `Unknown ${what}.`, fix: topLevelHint(name) };
  }
  const message = `Unknown key ${quote(name)} in [${section}].`;
  return { code: 'config.unknown_key', message, fix: sectionHint(name, String(section)) };
}

function topLevelHint(name: string): string {
  const homes = SETTINGS.filter((setting) => setting.name === name || setting.key === name);
  if (homes[0] !== undefined) return `Put ${quote(homes[0].name)} under [${homes[0].section}].`;
  const names = SECTIONS.map((section) => section.name);
  const nearest = nearestName(name, names);
  return nearest === undefined ? `The sections are ${listed(names)}.` : `Did you mean [${nearest}]?`;
}

function sectionHint(name: string, section: string): string {
  const names = findSection(section)?.settings.map((setting) => setting.name) ?? [];
  const nearest = nearestName(name, names);
  if (nearest !== undefined) return `Did you mean ${quote(nearest)}?`;
  const elsewhere = SETTINGS.find((setting) => setting.name === name);
  if (elsewhere !== undefined) return `${quote(name)} belongs under [${elsewhere.section}].`;
  return `[${section}] has ${listed(names)}.`;
}

function invalidValue(path: KeyPath, value: unknown): Complaint {
  const key = path.join('.');
  const setting = findSetting(key);
  if (setting === undefined) {
    const message = `${visibleText(key)} must be a section, but is ${kindOf(value)}.`;
    return { code: 'config.invalid_value', message, fix: `Write the settings under a line [${visibleText(key)}].` };
  }
  return {
    code: 'config.invalid_value',
    message: `${key} must be ${setting.expects}, but is ${found(setting, value)}.`,
    fix: valueHint(setting, value),
  };
}

function valueHint(setting: Setting, value: unknown): string {
  const nearest = typeof value === 'string' ? nearestName(value, setting.choices) : undefined;
  if (nearest !== undefined) return `Did you mean ${quote(nearest)}?`;
  return `Without the line it is ${JSON.stringify(setting.default)}.`;
}

function found(setting: Setting, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return kindOf(value);
  // SECURITY: T-24 — what may hold a password is described, never repeated, also when it stands at the wrong key.
  if (setting.isSecret || value.includes('://') || value.includes('@')) {
    return `a text of ${value.length} characters (not shown: it may hold a password)`;
  }
  return quote(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (isTable(value)) return 'a table';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

function isTable(value: unknown): boolean {
  const isList = Array.isArray(value);
  return typeof value === 'object' && value !== null && !isList && !(value instanceof Date);
}

function valueAt(table: TomlTable, path: KeyPath): unknown {
  return path.reduce<unknown>((node, segment) => Object(node)[segment], table);
}

function quote(text: string): string {
  return `"${visibleText(text, { maxCharacters: LONGEST_SHOWN })}"`;
}

function listed(names: readonly string[]): string {
  return names.join(', ');
}
