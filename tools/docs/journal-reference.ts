import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ENTRY_KINDS, FINDINGS, JOURNAL_ERRORS } from '@palyra/journal';

const PAGE = fileURLToPath(new URL('../../docs/reference/journal.md', import.meta.url));

/** docs/reference/journal.md: written by hand, with tables from the sources between its marks. */
export function renderJournalReference(): string {
  const tables: Readonly<Record<string, () => string>> = { kinds, findings, errors };
  return Object.entries(tables).reduce(
    (page, [name, render]) => replaceBetweenMarks(page, name, render()),
    readFileSync(PAGE, 'utf8'),
  );
}

function replaceBetweenMarks(page: string, name: string, table: string): string {
  const start = `<!-- generated: ${name} -->`;
  const from = page.indexOf(start);
  const until = page.indexOf('<!-- end -->', from);
  if (from === -1 || until === -1) throw new Error(`docs/reference/journal.md has no place for ${name}.`);
  return `${page.slice(0, from)}${start}\n${table}\n${page.slice(until)}`;
}

function kinds(): string {
  const rows = Object.entries(ENTRY_KINDS).map(
    ([kind, { version, fields }]) => `| \`${kind}\` | ${version} | ${Object.entries(fields).map(field).join(', ')} |`,
  );
  return ['| Kind | Version | Fields |', '|---|---|---|', ...rows].join('\n');
}

function field([name, spec]: [string, string | readonly string[]]): string {
  if (typeof spec === 'string') return `\`${name}\`: ${spec.replace('*', '\\*')}`;
  const words = spec.filter((word) => word !== '').join(' \\| ');
  return `\`${name}\`: ${words}${spec[0] === '' ? '?' : ''}`;
}

function findings(): string {
  return codes('Finding', FINDINGS);
}

function errors(): string {
  return codes('Code', JOURNAL_ERRORS);
}

function codes(title: string, table: Readonly<Record<string, string>>): string {
  const rows = Object.entries(table).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return [`| ${title} | Meaning |`, '|---|---|', ...rows].join('\n');
}
