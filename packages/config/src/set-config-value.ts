import { isDeepStrictEqual } from 'node:util';
import { parse, type TomlTable } from 'smol-toml';
import { ConfigError } from './config-error.ts';
import { type KeyMap, locateKeys, type Span, type TableBlock } from './locate-keys.ts';
import { parseConfig } from './parse-config.ts';
import { literal, pair } from './render-config.ts';
import { findSetting, type Setting, type SettingValue } from './settings.ts';

interface Edit extends Span {
  readonly replacement: string;
}

/**
 * The text with one setting changed; every other byte, comments included, stays as it was. Throws `ConfigError` when
 * the text, the key or the value is not valid, and `config.edit_refused` when the result would say anything else.
 */
export function setConfigValue(text: string, key: string, value: SettingValue): string {
  const setting = findSetting(key);
  if (setting === undefined)
    throw new ConfigError('config.unknown_key', 'There is no such setting.', { fix: 'See docs/reference/config.md.' });
  parseConfig(text, 'palyra.toml');
  refuseUnlessValid(setting, value);

  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  const edit = planEdit(body, setting, value);
  const edited = body.slice(0, edit.start) + edit.replacement + body.slice(edit.end);
  refuseUnlessOnlyThatChanged(body, edited, { setting, value });
  return mark + edited;
}

function refuseUnlessValid(setting: Setting, value: SettingValue): void {
  try {
    parseConfig(`[${setting.section}]\n${pair(setting.name, value)}`, 'value');
  } catch (thrown) {
    const problem = thrown instanceof ConfigError ? thrown.problems[0] : undefined;
    if (problem === undefined) throw thrown;
    // The place in our own scrap of text would mean nothing to anyone.
    throw new ConfigError(problem.code, problem.message, { fix: problem.fix });
  }
}

function planEdit(body: string, setting: Setting, value: SettingValue): Edit {
  const keys = locateKeys(body);
  const existing = keys.find([setting.section, setting.name])?.value;
  if (existing !== undefined) return { ...existing, replacement: literal(value) };

  const line = pair(setting.name, value);
  const newline = body.includes('\r\n') ? '\r\n' : '\n';
  const block = keys.blocks.find(({ path }) => path.length === 1 && path[0] === setting.section);
  if (block !== undefined) return insertAfter(lineEndFor(body, block, setting), `${newline}${line}`);

  const inline = keys.find([setting.section])?.value;
  if (inline !== undefined) return intoInlineTable(body, inline, line);

  const dotted = lastDottedValue(keys, setting.section);
  if (dotted !== undefined) return insertAfter(endOfLine(body, dotted.end), `${newline}${setting.section}.${line}`);

  const gap = body === '' ? '' : body.endsWith('\n') ? newline : newline.repeat(2);
  return insertAfter(body.length, `${gap}[${setting.section}]${newline}${line}${newline}`);
}

/** Below the commented-out default when there is one, else below the section's last setting, else below its header. */
function lineEndFor(body: string, block: TableBlock, setting: Setting): number {
  const commentedOut = new RegExp(`^[ \\t]*#[ \\t]*${setting.name}[ \\t]*=.*$`, 'm');
  const afterValues = body.slice(block.lastValueEnd, block.end);
  const match = commentedOut.exec(afterValues);
  return endOfLine(body, match === null ? block.lastValueEnd : block.lastValueEnd + match.index);
}

function intoInlineTable(body: string, table: Span, line: string): Edit {
  const isEmpty = body.slice(table.start + 1, table.end - 1).trim() === '';
  return isEmpty ? { ...table, replacement: `{ ${line} }` } : insertAfter(table.start + 1, ` ${line},`);
}

function lastDottedValue(keys: KeyMap, section: string): Span | undefined {
  const inSection = keys.locations.filter(
    ({ path, value }) => path.length === 2 && path[0] === section && value !== undefined,
  );
  return inSection.at(-1)?.value;
}

function endOfLine(body: string, offset: number): number {
  const newline = body.indexOf('\n', offset);
  if (newline === -1) return body.length;
  return body[newline - 1] === '\r' && newline > offset ? newline - 1 : newline;
}

function insertAfter(offset: number, replacement: string): Edit {
  return { start: offset, end: offset, replacement };
}

/** The locator is ours and the parser is not: what the parser reads decides. */
function refuseUnlessOnlyThatChanged(
  before: string,
  after: string,
  change: { setting: Setting; value: SettingValue },
): void {
  const { section, name } = change.setting;
  const expected = parse(before);
  const table = (expected[section] ?? {}) as TomlTable;
  expected[section] = Object.assign(Object.create(null), table, { [name]: change.value });
  if (isDeepStrictEqual(normalize(tryParse(after)), normalize(expected))) return;
  throw new ConfigError('config.edit_refused', `${change.setting.key} cannot be set without changing other lines.`, {
    fix: 'Edit the file by hand.',
  });
}

function tryParse(text: string): TomlTable | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** A valid configuration is tables of plain values, and the order of keys says nothing. */
function normalize(table: unknown): unknown {
  if (typeof table !== 'object' || table === null) return table;
  return Object.fromEntries(Object.entries(table).map(([key, item]) => [key, normalize(item)]));
}
