import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderApiReference } from './api-reference.ts';
import { renderCliReference } from './cli-reference.ts';
import { renderConfigReference } from './config-reference.ts';
import { renderErrorsReference } from './errors-reference.ts';
import { renderJournalReference } from './journal-reference.ts';
import { renderSandboxReference } from './sandbox-reference.ts';

/** Every generated page, by its path in the repository. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/api.md': renderApiReference,
  'docs/reference/cli.md': renderCliReference,
  'docs/reference/config.md': renderConfigReference,
  'docs/reference/errors.md': renderErrorsReference,
  'docs/reference/journal.md': renderJournalReference,
  'docs/reference/sandbox.md': renderSandboxReference,
};

export function stalePages(root: string): readonly { readonly path: string }[] {
  return Object.entries(PAGES)
    .filter(([path, render]) => readOrNothing(join(root, path)) !== render())
    .map(([path]) => ({ path }));
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
