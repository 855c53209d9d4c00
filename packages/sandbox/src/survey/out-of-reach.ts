import { dirname } from 'node:path';
import type { ToolIdentity } from '../launch-plan.ts';
import type { FileFacts, SurveyFiles } from './survey-files.ts';

/** Which of these the tool's user could not open by itself, because it may not pass through a directory above. */
export function outOfReach(
  paths: readonly string[],
  identity: ToolIdentity | undefined,
  files: Pick<SurveyFiles, 'stat'>,
): ReadonlySet<string> {
  // The launcher has no more rights than the tool, and so nothing to hand over.
  if (identity === undefined) return new Set();
  return new Set(paths.filter((path) => !canPass(dirname(path), identity, files)));
}

function canPass(directory: string, identity: ToolIdentity, files: Pick<SurveyFiles, 'stat'>): boolean {
  const facts = files.stat(directory);
  if (facts === undefined || !mayEnter(facts, identity)) return false;
  return directory === '/' || canPass(dirname(directory), identity, files);
}

function mayEnter({ mode, uid, gid }: FileFacts, identity: ToolIdentity): boolean {
  if (uid === identity.uid) return (mode & 0o100) !== 0;
  if (gid === identity.gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}
