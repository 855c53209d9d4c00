import { readFileSync } from 'node:fs';
import type { PolicyFile, PresetName } from './policy-set.ts';

/** A file of policy tests, as it was read. */
export interface PolicyTestFile {
  /** As it is shown, like the name of a `PolicyFile`. */
  readonly name: string;
  readonly text: string;
  readonly origin: PolicyFile['origin'];
}

export const PRESET_NAMES: readonly ['coding', 'locked', 'observe'] = ['coding', 'locked', 'observe'];

/** Which of our own files make which preset. */
const PARTS: Readonly<Record<PresetName, readonly string[]>> = {
  coding: ['every-preset', 'coding'],
  locked: ['every-preset', 'locked'],
  observe: ['every-preset', 'observe'],
};

/** The same place seen from `src/` and, in a release, from `dist/`. */
const POLICIES = new URL('../policies/', import.meta.url);

export function presetFiles(preset: PresetName): readonly PolicyFile[] {
  return PARTS[preset].map((part) => read(`${part}.cedar`));
}

/** Our own examples, which every release is held to; an operator's set is held to the operator's. */
export function presetTests(preset: PresetName): readonly PolicyTestFile[] {
  return PARTS[preset].map((part) => read(`${part}.policytest.toml`));
}

/** What policies and requests may speak about. */
export function readSchema(): string {
  return read('palyra.cedarschema').text;
}

function read(file: string): PolicyFile {
  return { name: `palyra:${file}`, text: readFileSync(new URL(file, POLICIES), 'utf8'), origin: { kind: 'palyra' } };
}
