import { readFileSync } from 'node:fs';
import { sha256Hex } from '@palyra/primitives';
import type { PolicyJson, SchemaJson } from './cedar.ts';

/** Our own texts as Cedar reads them, by their digests: reading them again would be an eighth of the CPU of palyrad's start. */
export interface KnownForms {
  readonly schemas: Readonly<Record<string, SchemaJson>>;
  readonly policies: Readonly<Record<string, PolicyJson>>;
}

const FILE = new URL('../policies/known-forms.json', import.meta.url);
const NONE: KnownForms = { schemas: {}, policies: {} };

/** SECURITY: T-09 — by its digest: a text that was edited since is another one, and Cedar reads it. */
export function knownSchema(text: string): SchemaJson | undefined {
  return own(forms().schemas, sha256Hex(text));
}

export function knownPolicy(text: string): PolicyJson | undefined {
  return own(forms().policies, sha256Hex(text));
}

function own<Form>(all: Readonly<Record<string, Form>>, key: string): Form | undefined {
  return Object.hasOwn(all, key) ? all[key] : undefined;
}

let kept: KnownForms | undefined;

function forms(): KnownForms {
  kept ??= read();
  return kept;
}

function read(): KnownForms {
  try {
    return parseForms(readFileSync(FILE, 'utf8'));
  } catch {
    return NONE;
  }
}

/** What is no list of forms at all knows none. */
export function parseForms(text: string): KnownForms {
  // Everybody gets the same ones, where Cedar gives each their own.
  const list = JSON.parse(text, (_key, value: unknown) => Object.freeze(value)) as Partial<KnownForms> | null;
  const isWhole = [list?.schemas, list?.policies].every(isListOfForms);
  return isWhole ? (list as KnownForms) : NONE;
}

function isListOfForms(list: unknown): boolean {
  return isObject(list) && Object.values(list).every(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
