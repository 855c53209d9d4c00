import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compilePolicySet, renderCheckedPresets, renderKnownForms } from '@palyra/policy';
import { renderAgentsReference } from './agents-reference.ts';
import { renderApiReference } from './api-reference.ts';
import { renderCliReference } from './cli-reference.ts';
import { renderConfigReference } from './config-reference.ts';
import { renderErrorsReference } from './errors-reference.ts';
import { renderJournalReference } from './journal-reference.ts';
import { renderSandboxReference } from './sandbox-reference.ts';

/** Every generated page, by its path in the repository; and our presets as they were checked and read, for their starts. */
export const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'packages/policy/policies/checked-presets.json': () => renderCheckedPresets(compilePolicySet),
  'packages/policy/policies/known-forms.json': renderKnownForms,
  'docs/reference/agents.md': renderAgentsReference,
  'docs/reference/api.md': renderApiReference,
  'docs/reference/cli.md': renderCliReference,
  'docs/reference/config.md': renderConfigReference,
  'docs/reference/errors.md': renderErrorsReference,
  'docs/reference/journal.md': renderJournalReference,
  'docs/reference/sandbox.md': renderSandboxReference,
};

export async function stalePages(root: string): Promise<readonly { readonly path: string }[]> {
  const all = Object.entries(PAGES).map(async ([path, render]) => ({ path, text: await render() }));
  return (await Promise.all(all))
    .filter(({ path, text }) => readOrNothing(join(root, path)) !== text)
    .map(({ path }) => ({ path }));
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
