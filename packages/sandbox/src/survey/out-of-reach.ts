import { dirname } from 'node:path';
import type { ToolIdentity } from '../launch-plan.ts';
import type { FileFacts, SurveyFiles } from './survey-files.ts';
import type { Toolchains } from './toolchains.ts';

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

/**
 * Where nobody hands anything over: without directories of PATH that the tool's user cannot enter. A program of that name further
 * on is found then, as the tool itself would find it.
 */
export function withinReach(
  toolchains: Toolchains,
  identity: ToolIdentity | undefined,
  files: Pick<SurveyFiles, 'stat'>,
): Toolchains {
  if (identity === undefined) return toolchains;
  const entries = toolchains.path.split(':');
  const closed = new Set(entries.filter((entry) => !canPass(entry, identity, files)));
  const places = Object.entries(toolchains.environment).filter(([, place]) => canPass(place, identity, files));
  return {
    ...toolchains,
    path: entries.filter((entry) => !closed.has(entry)).join(':'),
    environment: Object.fromEntries(places),
    remarks: [...toolchains.remarks, ...[...closed].map((entry) => ({ entry, reason: ONLY_ROOT }))],
  };
}

const ONLY_ROOT = 'A directory above it is closed to others than root, and a Tier B tool is not root.';

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
