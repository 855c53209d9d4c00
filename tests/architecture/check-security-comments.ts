import { isGenerated, type Repository } from './repository.ts';

const THREAT_MODEL = 'docs/threat-model.md';
const ATTACK_TEST = /^tests\/attack\/.*\.test\.ts$/;
const CODE = /\.(?:ts|tsx|mjs|js|c|h)$/;
const ID = /\bT-\d{2,}\b/g;
/** At the beginning of a comment's line, so that prose about such comments is not one. */
const COMMENT = /(?:\/\/|\/\*\*?|^\s*\*)\s*SECURITY\b(.*)$/;

/** A line that claims to stop a threat names one that exists, and a test that attacks it; attack tests name theirs too. */
export function checkSecurityComments(repository: Repository): string[] {
  if (!repository.files.includes(THREAT_MODEL)) return [`${THREAT_MODEL}: is missing`];
  const known = knownIds(repository.read(THREAT_MODEL));
  const attacks = repository.files.filter((path) => ATTACK_TEST.test(path));
  const attacked = new Set(attacks.flatMap((path) => headerIds(repository.read(path))));
  return [
    ...attacks.flatMap((path) => checkHeader(path, headerIds(repository.read(path)), known)),
    ...repository.files
      .filter((path) => CODE.test(path) && !path.startsWith('tests/') && !path.includes('.test.') && !isGenerated(path))
      .flatMap((path) => checkComments(path, repository.read(path), { known, attacked })),
  ];
}

function checkHeader(path: string, ids: readonly string[], known: ReadonlySet<string>): string[] {
  if (ids.length === 0) return [`${path}: its header comment names no threat`];
  return ids.filter((id) => !known.has(id)).map((id) => `${path}: ${id} is not in ${THREAT_MODEL}`);
}

interface Ids {
  readonly known: ReadonlySet<string>;
  readonly attacked: ReadonlySet<string>;
}

function checkComments(path: string, text: string, { known, attacked }: Ids): string[] {
  return text.split('\n').flatMap((line, index) => {
    const comment = COMMENT.exec(line)?.[1];
    if (comment === undefined) return [];
    const place = `${path}:${index + 1}`;
    // Only the ids in front count; the sentence behind may mention others.
    const ids = /^:((?:\s*,?\s*T-\d{2,})+)(?!\d)/.exec(comment)?.[1]?.match(ID) ?? [];
    if (ids.length === 0) return [`${place}: write "SECURITY: T-nn — why"`];
    return ids.flatMap((id) => {
      if (!known.has(id)) return [`${place}: ${id} is not in ${THREAT_MODEL}`];
      return attacked.has(id) ? [] : [`${place}: no test under tests/attack names ${id} in its header`];
    });
  });
}

/** Ids that are defined, at the beginning of a table row or list item; a mention elsewhere defines nothing. */
function knownIds(text: string): Set<string> {
  return new Set([...text.matchAll(/^(?:\|\s*|[-*]\s+)[`*]*(T-\d{2,})\b/gm)].map(([, id]) => id ?? ''));
}

/** The header is the comment a file begins with. */
function headerIds(text: string): string[] {
  const header = /^(?:\s|\/\/[^\n]*(?:\n|$)|\/\*.*?\*\/)*/s.exec(text)?.[0] ?? '';
  return header.match(ID) ?? [];
}
