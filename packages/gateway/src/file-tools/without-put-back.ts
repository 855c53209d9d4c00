import { join } from 'node:path';
import type { ProtectedChange } from '@palyra/sandbox';
import { type FileToolResult, failed } from './file-tool-result.ts';

/**
 * The sandbox protects more than our names do: what git's own settings lead to, what a directory holds. Where it has put
 * back what a tool did, the tool has not done it.
 */
export function withoutPutBack(
  result: FileToolResult,
  putBack: readonly ProtectedChange[],
  workspace: string,
): FileToolResult {
  if (result.kind === 'failed' || result.changes === undefined) return result;
  const { changes, execution } = result;
  const isPutBack = (path: string) =>
    putBack.some((each) => `${join(workspace, path)}/`.startsWith(`${each.path.replace(/\/$/, '')}/`));
  const undone = changes.files.filter(({ path }) => isPutBack(path));
  const [first] = undone;
  if (first === undefined) return result;
  const isAll = undone.length === changes.files.length && putBack.every(({ restored }) => restored);
  return {
    ...failed('file.protected', `${first.path} is protected by the sandbox, which has put it back.`),
    fix: 'Make the change yourself, or have the operator lift the protection of that path.',
    // SECURITY: T-32 — some done and some not is neither.
    effect: isAll ? 'rolled_back' : 'unknown',
    path: first.path,
    changes: isAll ? undefined : changes,
    execution,
  };
}
