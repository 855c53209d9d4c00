import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ProtectedChange } from '@palyra/sandbox';
import { as, type Ended } from './sandbox-daemon.ts';
import { IS_ROOT, type Place, uniqueMark } from './sandboxed.ts';

/** A project with something protected in it, and its operator. */
export interface ProtectedWorkspace {
  readonly workspace: string;
  /** As its owner, outside of any sandbox. What it prints. */
  operator(script: string): string;
}

/** A repository with one commit, a hook, instructions, editor and pipeline files, and a package with its own. */
const ORDINARY = `
git init -q -b main . && git config user.name Dev && git config user.email dev@localhost
printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/commit-msg && chmod +x .git/hooks/commit-msg
echo 'the operator says' > CLAUDE.md
mkdir -p .vscode .github/workflows packages/one
echo '{}' > .vscode/tasks.json
echo 'on: push' > .github/workflows/ci.yml
echo 'export A=1' > packages/one/.envrc
echo 'of one' > packages/one/AGENTS.md
echo 'code' > packages/one/index.js
git add . && git commit -qm one
`;

/** Made once for each owner and copied: it is some twenty processes. */
const models = new Map<string, string>();

/** The ordinary one, or what the script makes of an empty one. */
export function makeWorkspace(place: Place, script?: string, owner: number = place.uid): ProtectedWorkspace {
  if (script !== undefined) return makeAnew(place, script, owner);
  const key = `${place.base} ${owner}`;
  const model = models.get(key) ?? makeAnew(place, ORDINARY, owner).workspace;
  models.set(key, model);
  return makeAnew(place, `cp -a ${model}/. .`, owner);
}

function makeAnew(place: Place, script: string, owner: number): ProtectedWorkspace {
  const workspace = join(place.base, uniqueMark());
  mkdirSync(workspace);
  if (IS_ROOT) chownSync(workspace, owner, owner);
  const operator = (text: string) => {
    const [file = '', ...args] = as({ uid: owner }, ['sh', '-ec', text]);
    return execFileSync(file, args, {
      cwd: workspace,
      encoding: 'utf8',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(place.base, 'nobody') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  operator(script);
  return { workspace, operator };
}

/** What the result says of protected paths, relative to the workspace and without the place where it was kept. */
export function changesOf({ outcome }: Ended, workspace: string): readonly string[] {
  return protectedIn(outcome).map(
    ({ path, what, restored }) => `${what} ${path.slice(workspace.length + 1)}${restored ? '' : ' (not restored)'}`,
  );
}

export function protectedIn(outcome: Ended['outcome']): readonly ProtectedChange[] {
  if (!('protectedChanged' in outcome)) throw new Error(`It did not run: ${JSON.stringify(outcome)}`);
  return outcome.protectedChanged;
}
