import type { AlwaysHereRule } from './always-here.ts';
import { PolicyError } from './policy-error.ts';

/** The text of a `.cedar` file with the rule at its end. A rule that is there already is not added again. */
export function addRule(fileText: string, rule: AlwaysHereRule): string {
  return addBlock(fileText, { id: rule.id, text: rule.policyText, comment: '//' });
}

/** The same for the `.policytest.toml` beside it. */
export function addRuleTest(fileText: string, rule: AlwaysHereRule): string {
  return addBlock(fileText, { id: rule.id, text: rule.testText, comment: '#' });
}

/**
 * Takes out what `addRule` or `addRuleTest` put in, to the byte, whatever was edited around it. Throws
 * `policy.invalid_request` when it is not there.
 */
export function removeRule(fileText: string, id: string): string {
  const found = findBlock(fileText, id);
  if (found === undefined) {
    const fix = 'palyra grants list shows the rules there are.';
    throw new PolicyError('policy.invalid_request', `There is no rule ${JSON.stringify(id.slice(0, 80))}.`, { fix });
  }
  const before = fileText.slice(0, found.start);
  const after = fileText.slice(found.end);
  if (!found.endedLine) return before + after;
  if (after === '') return before.replace(/\r?\n$/, '');
  // The line break before this block is ours, and now stands before the next one.
  return before + after.replace(BEGIN, (line) => line.replace(/ begin(?=\r?$)/m, ` begin${ENDED_LINE}`));
}

/** A rule as it stands in a file. */
export interface RuleBlock {
  readonly id: string;
  /** What is between its two lines. */
  readonly text: string;
}

/** In the order of the file; whatever else is in it is passed over. */
export function rulesIn(fileText: string): readonly RuleBlock[] {
  const ids = [...fileText.matchAll(/^(?:\/\/|#) palyra:always (always-[0-9a-f]{32}) begin/gm)].map(
    ([, id = '']) => id,
  );
  return [...new Set(ids)].flatMap((id) => {
    const found = findBlock(fileText, id);
    if (found === undefined) return [];
    const lines = fileText.slice(found.start, found.end).trimEnd().split(/\r?\n/);
    return [{ id, text: lines.slice(1, -1).join('\n') }];
  });
}

interface Block {
  readonly id: string;
  readonly text: string;
  readonly comment: '//' | '#';
}

/** Said by the marker when the file did not end with a line break, so that the one we added goes away with the rule. */
const ENDED_LINE = ' (ended the line above)';
const BEGIN = /^(?:\/\/|#) palyra:always always-[0-9a-f]{32} begin\r?\n/;

function addBlock(fileText: string, { id, text, comment }: Block): string {
  if (findBlock(fileText, id) !== undefined) return fileText;
  const lineBreak = fileText.includes('\r\n') ? '\r\n' : '\n';
  const endsLine = fileText !== '' && !fileText.endsWith('\n');
  const marker = `${comment} palyra:always ${id}`;
  const lines = [`${marker} begin${endsLine ? ENDED_LINE : ''}`, ...text.split('\n'), `${marker} end`, ''];
  return `${fileText}${endsLine ? lineBreak : ''}${lines.join(lineBreak)}`;
}

interface FoundBlock {
  readonly start: number;
  readonly end: number;
  readonly endedLine: boolean;
}

function findBlock(fileText: string, id: string): FoundBlock | undefined {
  if (!/^always-[0-9a-f]{32}$/.test(id)) return undefined;
  // Only whole lines count: names inside a rule are escaped and cannot begin one.
  const marker = `(?://|#) palyra:always ${id}`;
  const block = new RegExp(
    `^${marker} begin( \\(ended the line above\\))?\\r?\\n(?:(?!${marker} ).*\\r?\\n)*?${marker} end(?:\\r?\\n|$(?![^]))`,
    'm',
  ).exec(fileText);
  if (block === null) return undefined;
  const { index: start, 0: whole, 1: ended } = block;
  return { start, end: start + whole.length, endedLine: ended !== undefined };
}
