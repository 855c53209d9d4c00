import { readFileSync } from 'node:fs';
import { type Sha256Hex, sha256OfJson } from '@palyra/primitives';
import type { CompiledPolicies } from './compiled-policies.ts';
import type { PolicyFile, PolicySet, PresetName } from './policy-set.ts';
import { PRESET_NAMES, presetFiles, readSchema } from './presets.ts';

/** One of our own presets as it was checked: not every palyrad does it again, for Cedar takes a third of a second of CPU. */
interface CheckedPreset {
  /** Of the texts that were checked. */
  readonly of: Sha256Hex;
  readonly set: PolicySet;
}

const FILE = new URL('../policies/checked-presets.json', import.meta.url);

/** What presets are made of. */
interface PresetTexts {
  schema(): string;
  files(preset: PresetName): readonly PolicyFile[];
}

const OURS: PresetTexts = { schema: readSchema, files: presetFiles };

/** Undefined where nobody has checked these very texts: then they have to be. */
export function checkedPolicies(preset: PresetName, texts: PresetTexts = OURS): CompiledPolicies | undefined {
  const presets = readChecked();
  // SECURITY: T-09 — a preset or a schema that was edited since is another one, and nothing is known of it.
  const setOf = (name: PresetName) => (presets[name]?.of === digestOf(name, texts) ? presets[name]?.set : undefined);
  const [set, observed] = [setOf(preset), setOf('coding')];
  if (set === undefined || (preset === 'observe' && observed === undefined)) return undefined;
  return preset === 'observe' && observed !== undefined ? { set, observed } : { set };
}

/** For `npm run docs`, with `compilePolicySet`; a test compiles them again and compares. */
export function renderCheckedPresets(compile: (source: { preset: PresetName; files: [] }) => PolicySet): string {
  const checked = (preset: PresetName) => ({ of: digestOf(preset, OURS), set: compile({ preset, files: [] }) });
  const presets = Object.fromEntries(PRESET_NAMES.map((preset) => [preset, checked(preset)]));
  return `${JSON.stringify(presets, null, 2)}\n`;
}

function digestOf(preset: PresetName, { schema, files }: PresetTexts): Sha256Hex {
  return sha256OfJson({ schema: schema(), files: files(preset).map(({ name, text }) => [name, text]) });
}

function readChecked(): Partial<Readonly<Record<PresetName, CheckedPreset>>> {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Record<PresetName, CheckedPreset>;
  } catch {
    return {};
  }
}
