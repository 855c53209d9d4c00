import { dirname } from 'node:path';
import type { SurveyFiles } from './survey-files.ts';

export interface Operator {
  readonly uid: number;
  readonly gid: number;
}

export interface OwnershipRule {
  readonly operator: Operator;
  /** Whoever owns it is trusted with it. */
  readonly anyOwner: boolean;
  readonly files: Pick<SurveyFiles, 'stat'>;
}

/** Whether somebody who is neither the operator nor root could put a program there, or put another directory in its place. */
export function isWritableByOthers(path: string, rule: OwnershipRule): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (isOpen(at, { isItself: at === path, ...rule })) return true;
    if (at === '/') return false;
  }
}

function isOpen(path: string, { isItself, operator, anyOwner, files }: OwnershipRule & { isItself: boolean }): boolean {
  const facts = files.stat(path);
  if (facts === undefined) return true;
  const { uid, gid, mode } = facts;
  // In a sticky directory others can add names, but not replace the one that leads to us.
  if (!isItself && (mode & 0o1000) !== 0) return false;
  if ((mode & 0o002) !== 0) return true;
  if (anyOwner) return false;
  if (uid !== 0 && uid !== operator.uid) return true;
  // A group of the operator's own has the same number; with any other, more people are in it.
  const isOwnGroup = gid === 0 || (gid === operator.gid && gid === operator.uid);
  return (mode & 0o020) !== 0 && !isOwnGroup;
}
