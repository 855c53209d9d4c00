import { sha256Hex } from '@palyra/primitives';
import { parsePolicy, parseSchema } from './cedar.ts';
import { compilePolicySet } from './compile-policy-set.ts';
import type { KnownForms } from './known-forms.ts';
import { PolicyError } from './policy-error.ts';
import { PRESET_NAMES, readSchema } from './presets.ts';

/** For `npm run docs`; a test has Cedar read them again and compares. */
export function renderKnownForms(): string {
  const texts = PRESET_NAMES.flatMap((preset) =>
    compilePolicySet({ preset, files: [] }).policies.map(({ text }) => text),
  );
  const forms: KnownForms = {
    schemas: byDigest([readSchema()], parseSchema),
    policies: byDigest([...new Set(texts)], parsePolicy),
  };
  const lines = Object.entries(forms).map(([kind, all]) => `${JSON.stringify(kind)}: {\n${linesOf(all)}\n}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

function byDigest<Form>(texts: readonly string[], parse: (text: string) => Parsed<Form>): Record<string, Form> {
  return Object.fromEntries(
    texts.map((text) => {
      const answer = parse(text);
      if (answer.kind === 'failed')
        throw new PolicyError('policy.invalid_policy_set', 'A text of ours does not parse.');
      return [sha256Hex(text), answer.json];
    }),
  );
}

type Parsed<Form> = { readonly kind: 'failed' } | { readonly kind: 'parsed'; readonly json: Form };

function linesOf(forms: object): string {
  return Object.entries(forms)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([digest, form]) => `${JSON.stringify(digest)}: ${JSON.stringify(form)}`)
    .join(',\n');
}
