import { visibleText } from '@palyra/primitives';
import { parse, TomlError, type TomlTable } from 'smol-toml';
import { ConfigError, type ConfigProblem, textError } from './config-error.ts';
import { findProblems } from './find-problems.ts';
import { type Config, configSchema } from './schema.ts';
import { SETTINGS } from './settings.ts';
import { createPositionFinder } from './text-position.ts';

export interface ParsedConfig {
  /** Frozen through and through: nothing changes a setting while the program runs. */
  readonly config: Config;
  /** The keys (`section.name`) that the text sets itself; all others have their defaults. */
  readonly present: ReadonlySet<string>;
}

/** Far more than the settings need, and little enough that no text can exhaust the stack. */
const DEEPEST_NESTING = 16;

/** `file` is only named in messages. Throws one `ConfigError` that lists every problem of the text. */
export function parseConfig(text: string, file: string): ParsedConfig {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const table = parseToml(body, file);
  const result = configSchema.safeParse(table);
  if (!result.success) {
    const [first, ...rest] = findProblems(body, table, result.error.issues);
    if (first !== undefined) throw textError(visibleText(file), [first, ...rest]);
    throw new ConfigError('config.invalid_value', `${visibleText(file)} does not match the schema.`);
  }
  const present = SETTINGS.filter(({ section, name }) => Object.hasOwn(Object(table[section]), name));
  return { config: deepFreeze(result.data), present: new Set(present.map((setting) => setting.key)) };
}

/** Throws `config.invalid_toml`. The parser's own error is left out: it quotes the lines, which may hold a password. */
function parseToml(text: string, file: string): TomlTable {
  try {
    return parse(text, { maxDepth: DEEPEST_NESTING });
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    throw textError(visibleText(file), [tomlProblem(text, thrown)]);
  }
}

function tomlProblem(text: string, error: TomlError): ConfigProblem {
  const [headline = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
  const lineStart = text.split('\n', error.line - 1).join('\n').length + (error.line > 1 ? 1 : 0);
  // smol-toml counts UTF-16 units.
  const position = createPositionFinder(text)(lineStart + error.column - 1);
  return {
    code: 'config.invalid_toml',
    key: undefined,
    ...position,
    message: `This is not TOML: ${headline}.`,
    fix: 'Correct the text at this place; https://toml.io/en/v1.0.0 shows the forms.',
  };
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}
