import { basename } from 'node:path';
import { STRATEGIES } from './harmless-git-config.ts';
import { configOf } from './judge-entry.ts';

/** As git reads a line of `git-rebase-todo`: `exec` or `x`, and what the shell shall run. */
const PROGRAM = /^[ \t]*(?:exec|x)(?:[ \t\r\0]|$)/;

/** What `git rebase --continue`, or `--continue` of picks, runs because this file of its state says so. */
export function programsIn(path: string, bytes: Buffer): readonly string[] {
  const name = basename(path);
  if (name === 'strategy') return foreign(linesOf(bytes).filter((line) => line !== ''));
  if (name !== 'opts') return linesOf(bytes).filter((line) => PROGRAM.test(line));
  const keys = configOf(bytes);
  // Not as git reads it, or not so that we are sure.
  if (keys === undefined) return [bytes.toString('latin1')];
  return foreign(keys.filter(({ key }) => key === 'strategy').map(({ value = '' }) => value));
}

/** The same steps without the programs that were not there before. Undefined: git does without all of it. */
export function withoutPrograms(path: string, bytes: Buffer, known: readonly string[]): Buffer | undefined {
  if (basename(path) !== 'git-rebase-todo') return undefined;
  const lines = linesOf(bytes).filter((line) => !PROGRAM.test(line) || known.includes(line));
  return Buffer.from(lines.join('\n'), 'latin1');
}

function foreign(strategies: readonly string[]): readonly string[] {
  return strategies.filter((each) => !STRATEGIES.has(each));
}

function linesOf(todo: Buffer): readonly string[] {
  return todo.toString('latin1').split('\n');
}
