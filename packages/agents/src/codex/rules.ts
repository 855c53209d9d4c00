import { type JsonValue, parseJson } from '@palyra/primitives';
import { unknownFormat } from '../json-settings.ts';
import type { ClientRules, OwnRule } from '../own-rules/own-rule.ts';

/**
 * `prefix_rule(pattern = […], decision = "forbidden")` in files that are programs. Codex runs them; here they are read as the
 * data that they are in its reference, and one that denies or asks in another form is not known.
 */
export const rules: ClientRules = {
  places: {
    ofUser: ['.codex/rules/*.rules'],
    ofProject: ['.codex/rules/*.rules'],
    ofSystem: ['/etc/codex/rules/*.rules'],
  },
  read(text) {
    const plain = withoutComments(text);
    if (!isPlain(plain)) throw notKnown();
    const found = [...plain.matchAll(/\bdecision\s*=\s*["'](forbidden|prompt)["']/g)];
    // SECURITY: T-58 — a word of these in no such place may be a rule as well.
    if (found.length !== [...plain.matchAll(/["'](?:forbidden|prompt)["']/g)].length) throw notKnown();
    return plain.split(/\bprefix_rule\s*\(/).flatMap((call, at): readonly OwnRule[] => {
      const [, decision, ...more] = call.split(/\bdecision\s*=\s*["'](forbidden|prompt)["']/);
      if (decision === undefined) return [];
      if (at === 0 || more.length > 1) throw notKnown();
      const words = patternIn(call);
      const effect = decision === 'prompt' ? 'ask' : 'deny';
      return [{ effect, text: `prefix_rule(${JSON.stringify(words)})`, covers: { kind: 'words', words } }];
    });
  },
};

/** `deny` is one of hosts alone: with it in a rule of commands Codex refuses the file. */
const DECISIONS: ReadonlySet<string> = new Set(['allow', 'prompt', 'forbidden', 'deny']);

/** SECURITY: T-58 — they are programs: a decision that is put together, or a rule by another name, would be read as none. */
function isPlain(plain: string): boolean {
  const bare = plain.replaceAll(TEXTS, '""');
  const calls = bare.split(/\bprefix_rule\b/).slice(1);
  const decisions = [...plain.matchAll(/\bdecision\s*=\s*["']([^"']*)["']/g)];
  return (
    calls.every((call) => /^\s*\(/.test(call) && /\bpattern\s*=/.test(call)) &&
    bare.split(/\bdecision\s*=/).every((rest, at) => at === 0 || /^\s*""\s*[,)]/.test(rest)) &&
    decisions.every(([, decision = '']) => DECISIONS.has(decision))
  );
}

function notKnown() {
  return unknownFormat('A rule of Codex is in a form that is not known here.');
}

const TEXTS = /"(?:[^"\\\n]|\\[\s\S]?)*(?:"|\n|$)|'(?:[^'\\\n]|\\[\s\S]?)*(?:'|\n|$)/g;

/** A `#` in a text is none. */
function withoutComments(text: string): string {
  return text.replaceAll(
    new RegExp(`(${TEXTS.source})|#[^\\n]*`, 'g'),
    (_all, quoted: string | undefined) => quoted ?? '',
  );
}

/** A word each, or a list of words of which it may be any. */
function patternIn(call: string): readonly (readonly string[])[] {
  const [, from] = /\bpattern\s*=\s*(\[.*)/s.exec(call) ?? [];
  if (from === undefined) throw notKnown();
  const list = listIn(from.slice(0, endOfList(from)));
  const words = Array.isArray(list) ? (list as readonly JsonValue[]).map((each) => [each].flat()) : [];
  if (words.length === 0 || !words.every(areTexts)) throw notKnown();
  return words as readonly (readonly string[])[];
}

function areTexts(values: readonly JsonValue[]): values is readonly string[] {
  return values.length > 0 && values.every((value) => typeof value === 'string');
}

function endOfList(text: string): number {
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(
    /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|[[\]]/g,
  )) {
    if (part === '[') depth += 1;
    if (part === ']') depth -= 1;
    if (depth === 0) return index + 1;
  }
  throw notKnown();
}

function listIn(list: string): JsonValue {
  const json = list.replaceAll(/'([^'"\\]*)'/g, '"$1"').replaceAll(/,\s*\]/g, ']');
  try {
    return parseJson(json);
  } catch {
    throw notKnown();
  }
}
