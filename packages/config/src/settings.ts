import { z } from 'zod';
import { configSchema } from './schema.ts';

/** One setting of palyra.toml as a person reads it. Everything is taken from the schema. */
export interface Setting {
  readonly section: string;
  readonly name: string;
  /** `section.name`. */
  readonly key: string;
  readonly description: string;
  /** Completes "must be …". */
  readonly expects: string;
  readonly default: SettingValue;
  readonly choices: readonly string[];
  readonly isSecret: boolean;
}

export type SettingValue = string | number | boolean;

export interface Section {
  readonly name: string;
  readonly description: string;
  readonly settings: readonly Setting[];
}

export const SECTIONS: readonly Section[] = listSections();
export const SETTINGS: readonly Setting[] = SECTIONS.flatMap((section) => section.settings);

export function findSetting(key: string): Setting | undefined {
  return SETTINGS.find((setting) => setting.key === key);
}

export function findSection(name: string): Section | undefined {
  return SECTIONS.find((section) => section.name === name);
}

type Described = z.core.JSONSchema.BaseSchema;

function listSections(): readonly Section[] {
  const root = z.toJSONSchema(configSchema, { io: 'input' });
  return entries(root).map(([name, section]) => ({
    name,
    description: section.description ?? '',
    settings: entries(section).map(([setting, schema]) => describeSetting(name, setting, schema)),
  }));
}

function entries(schema: Described): readonly [string, Described][] {
  return Object.entries(schema.properties ?? {}).filter(
    (entry): entry is [string, Described] => typeof entry[1] === 'object',
  );
}

function describeSetting(section: string, name: string, schema: Described): Setting {
  const choices = (schema.enum ?? []).map(String);
  return {
    section,
    name,
    key: `${section}.${name}`,
    description: schema.description ?? '',
    expects: typeof schema['expects'] === 'string' ? schema['expects'] : expectation(schema, choices),
    default: schema.default as SettingValue,
    choices,
    isSecret: schema['secret'] === true,
  };
}

function expectation(schema: Described, choices: readonly string[]): string {
  if (choices.length > 0) return `one of ${choices.join(', ')}`;
  if (schema.type === 'integer') return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === 'number') return `a number from ${schema.minimum} to ${schema.maximum}`;
  return schema.type === 'boolean' ? 'true or false' : 'a text';
}
