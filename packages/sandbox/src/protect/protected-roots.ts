import { dirname } from 'node:path';
import type { Refusal } from '../run-result.ts';
import { stateOf } from './anchored-files.ts';
import { identityOf } from './list-directory.ts';
import { SPELLINGS } from './look-into-directory.ts';
import { foldName, NAME_TREE, type NameNode } from './protected-names.ts';
import { isIn } from './running-watches.ts';

/**
 * SECURITY: T-15 — what a command may write is looked through from its top, and there everything would count as the
 * command's. So it is no protected path, and lies in none, unless that is lifted or it is a project of its own, as
 * worktrees in `.claude` are.
 */
export function refuseProtectedRoots(writable: readonly string[], lifted: readonly string[]): Refusal | undefined {
  const isProtected = (path: string) => {
    const above = protectedAbove(path);
    return above !== undefined && !isIn(path, lifted) && (above === path || stateOf(`${path}/.git`) === undefined);
  };
  if (!writable.some(isProtected)) return undefined;
  return {
    kind: 'refused',
    code: 'sandbox.protected_root',
    message: 'What the tool may write is a protected path, or lies in one.',
    fix: 'Name the directory of the project, or lift the path (`protection.lifted`).',
  };
}

/** What the names in a directory mean by its own name: `workflows` counts in a `.github`. */
export function nodeOfRoot(root: string): NameNode | undefined {
  return nodesTo(root).at(-1)?.node;
}

/** The nearest to the top, or the path itself. */
function protectedAbove(path: string): string | undefined {
  return nodesTo(path).find(({ node }) => node?.found !== undefined)?.path;
}

/** Of each directory on the way to it, from the top. */
function nodesTo(path: string): readonly { readonly path: string; readonly node: NameNode | undefined }[] {
  const names = path.split('/').slice(1);
  let before: NameNode | undefined;
  return names.map((name, index) => {
    const at = `/${names.slice(0, index + 1).join('/')}`;
    const folded = foldName(name);
    const node = before?.names.get(folded) ?? NAME_TREE.names.get(folded);
    const spelling = SPELLINGS.get(folded) ?? folded;
    const isCalled = () => name === spelling || identityOf(at) === identityOf(`${dirname(at)}/${spelling}`);
    before = node !== undefined && isCalled() ? node : undefined;
    return { path: at, node: before };
  });
}
