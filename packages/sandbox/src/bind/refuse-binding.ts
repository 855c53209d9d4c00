import type { Refusal } from '../run-result.ts';
import type { Binding, BoundFile } from './binding.ts';
import { MOST_COPIED_BYTES } from './open-bound-file.ts';
import type { NotTaken } from './take-file.ts';

export function refuseFile(role: BoundFile['role'], why: NotTaken): Refusal {
  switch (why) {
    case 'absent':
      return notFound(`The ${role} is not there, or not visible in the sandbox.`);
    case 'not_executable':
      return notFound(`The ${role} is no file that the tool may execute.`);
    case 'unreadable':
      return notBindable(`The ${role} cannot be read by the tool.`, 'Make it readable for the user of the workspace.');
    case 'too_large':
      return notBindable(
        `The ${role} lies where tools may write, and is too large to be copied: ${MOST_COPIED_BYTES} bytes in all are the most.`,
        'Install it where only root can write.',
      );
    case 'changing':
      return notBindable(`The ${role} is being written.`, 'Try again when that is done.');
    case 'not_in_tier_b':
      return notBindable(`The ${role} lies where tools may write, and Tier B has no place for a copy.`, 'Use Tier C.');
  }
}

export function refuseFirstLine(): Refusal {
  return notBindable('The first line of a script is too long, or holds more than plain text.', 'Shorten the #! line.');
}

export function refuseNesting(): Refusal {
  return notBindable(
    'A script names a script as its interpreter, and so on too often.',
    'Name a program in its #! line.',
  );
}

/** SECURITY: T-04 — the one answer to a swap: nothing runs. Names no path, for it may lie outside the workspace. */
export function refuseChanged(approved: Binding, found: Binding): Refusal {
  const has = ({ files }: Binding, one: BoundFile) =>
    files.some(({ path, role, sha256 }) => path === one.path && role === one.role && sha256 === one.sha256);
  const changed = [
    ...approved.files.filter((file) => !has(found, file)),
    ...found.files.filter((file) => !has(approved, file)),
  ].map(({ role }) => role);
  const what = changed.length === 0 ? 'What is not bound' : `The ${[...new Set(changed)].join(' and the ')}`;
  return changedSinceApproved(`${what} is not what was approved.`);
}

export function changedSinceApproved(message: string): Refusal {
  return {
    kind: 'refused',
    code: 'sandbox.changed_since_approved',
    message,
    fix: 'Look at what changed, and ask for approval again.',
  };
}

/** It was there and could be read when it was bound; other refusals stay what they are. */
export function asChanged(refusal: Refusal): Refusal {
  const isGone = refusal.code === 'sandbox.executable_not_found' || refusal.code === 'sandbox.not_bindable';
  return isGone ? changedSinceApproved('What was approved is not there any more, or cannot be read.') : refusal;
}

function notFound(message: string): Refusal {
  const fix = 'Name a program that is there: in the workspace, or on your PATH.';
  return { kind: 'refused', code: 'sandbox.executable_not_found', message, fix };
}

function notBindable(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.not_bindable', message, fix };
}
