import { rmdirSync } from 'node:fs';
import { type ChangePlan, describeChanges, realChanges, refuseTooMuch } from './change-plan.ts';
import { commitChanges } from './commit-changes.ts';
import { FileFailure } from './file-failure.ts';
import { sha256 } from './open-file.ts';
import type { WorkerOrder, WorkerReply } from './protocol.ts';
import { at, closePlace, type Root, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

/** The other end of the stream. */
export interface Conversation {
  say(reply: WorkerReply): void;
  sendBlob(digest: string, bytes: Buffer): void;
  /** Waits for the answer to `prepared`. */
  hearOrder(): WorkerOrder;
}

/** Old contents out, the word to go on in, then all of it or nothing. Throws `FileFailure`. */
export function performChange(
  workplace: Workplace,
  plan: ChangePlan,
  { conversation, temporary }: { readonly conversation: Conversation; readonly temporary: string },
): void {
  const changes = realChanges(plan.changes);
  refuseTooMuch(workplace, changes);
  const sent = new Set<string>();
  for (const { before } of changes) {
    const digest = before === undefined ? undefined : sha256(before.bytes);
    if (before === undefined || digest === undefined || sent.has(digest)) continue;
    conversation.sendBlob(digest, before.bytes);
    sent.add(digest);
  }
  conversation.say({ kind: 'prepared', changes: describeChanges(changes), output: plan.output });
  // SECURITY: T-32 — nothing is overwritten before the other side has said that it keeps what was there.
  if (conversation.hearOrder().order !== 'commit') {
    throw new FileFailure('file.not_kept', 'What would be overwritten was not kept.', { effect: 'none' });
  }
  commitChanges(changes, { root: workplace.root, temporary });
  removeEmptied(workplace.root, plan.emptied ?? []);
  conversation.say({ kind: 'done', output: plan.output });
}

/** One that is not empty stays: somebody else uses it. */
export function removeEmptied(root: Root, directories: readonly string[]): void {
  for (const path of directories.toReversed()) {
    try {
      const place = walkPath(root, path, { followLast: false });
      try {
        if (place.path === path && place.entry?.stat.isDirectory() === true) rmdirSync(at(place.directory, place.name));
      } finally {
        closePlace(root, place);
      }
    } catch {
      // Not empty, not there, or no longer ours.
    }
  }
}
