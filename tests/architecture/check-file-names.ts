import { isGenerated, type Repository } from './repository.ts';

/** They say that something is code, not what it does; a type lives in the file that makes it. */
const BANNED = ['util', 'helper', 'common', 'misc', 'type', 'manager', 'base', 'impl'];
const BANNED_WORDS = new Set(BANNED.flatMap((word) => [word, `${word}s`]));

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const CODE = /\.(?:ts|tsx|mts|js|mjs|cjs|c|h|proto|cedar|py|sh)$/;
/** Folders whose names are ours to choose; the root's files mostly have names that tools prescribe. */
const OURS = /^(?:packages|apps|tests|tools|bench|docs|examples)\//;

export function checkFileNames({ files }: Repository): string[] {
  return files.filter((path) => OURS.test(path) && !isGenerated(path)).flatMap(checkPath);
}

function checkPath(path: string): string[] {
  // An attack test may begin with the threat it makes: `T-40-database-open-to-others.test.ts`.
  const segments = path.replace(/^(tests\/attack\/)T-(?=\d{2,}-)/, '$1t-').split('/');
  const file = segments.at(-1) ?? '';
  // Documents such as README.md have names of their own; `x.test.ts` and `x.bench.ts` are judged by their first part.
  const stems = CODE.test(file) ? file.replace(CODE, '').split('.') : [];
  return [...segments.slice(0, -1), ...stems].flatMap((name) => {
    if (!KEBAB.test(name)) return [`${path}: "${name}" is not kebab-case`];
    // `session-manager` hides as much as `manager`.
    const word = name.split('-').at(-1) ?? '';
    return BANNED_WORDS.has(word) ? [`${path}: "${word}" says nothing about what is inside`] : [];
  });
}
