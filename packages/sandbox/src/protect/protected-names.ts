/** How a protected path is kept from being written while a tool runs in Tier C; afterwards all of them are checked. */
export type Hold =
  /** Mounted read-only wherever it is: something outside runs it without being asked. */
  | 'always'
  /** Mounted where that pins no directory of the project: pins forbid renames, and nobody reads it unasked. */
  | 'where_free'
  /** Written every day, so only checked. */
  | 'never';

export interface ProtectedName {
  /** As it is called in some directory of the workspace; `a/b` is a `b` in an `a`. */
  readonly name: string;
  readonly hold: Hold;
  readonly reason: string;
}

const AGENT = 'It configures an agent, hooks and servers that it starts included.';
const INSTRUCTIONS = 'Agents take it for instructions of the operator.';
const EDITOR = 'Editors start what it names.';
const SHELL = 'A shell runs it when it starts.';
const PIPELINE = 'A build service runs it, with its own secrets.';
const HOOKS = 'Git hooks are kept there.';
const OTHER_REPOSITORY = 'Mercurial or Jujutsu starts what it names, or reads another such file by it.';

/**
 * T-15's list, in one place. What git reads is found by what a directory holds, not by its name: see
 * `look-into-directory.ts`. Not in it, because an agent's daily work is to write them: build files, tests, scripts of
 * package.json (T-45). Nor what cargo and bazel take wrappers and runners from (.cargo/config, .bazelrc): projects ship it,
 * and a clone or a vendored crate without it no longer builds. File tools ask about those.
 */
export const PROTECTED_NAMES: readonly ProtectedName[] = [
  ...named(
    'always',
    AGENT,
    '.claude .codex .cursor .gemini .opencode .windsurf .continue .kiro .roo .mcp.json opencode.json opencode.jsonc .aider.conf.yml',
  ),
  ...named(
    'always',
    EDITOR,
    '.vscode .idea .zed .fleet .helix .devcontainer .devcontainer.json .exrc .vimrc .gvimrc .nvimrc .nvim.lua .dir-locals.el .dir-locals-2.el',
  ),
  ...named('always', 'direnv runs it when a shell enters the directory.', '.envrc'),
  // Written anew with the same bytes by every installation of packages, which would fail on a mount.
  ...named('never', HOOKS, '.husky .githooks'),
  ...named(
    'where_free',
    INSTRUCTIONS,
    'CLAUDE.md CLAUDE.local.md AGENTS.md AGENTS.override.md GEMINI.md .cursorrules .windsurfrules .clinerules .github/copilot-instructions.md .github/instructions',
  ),
  ...named(
    'where_free',
    SHELL,
    `.profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile .zlogin .zlogout
     .kshrc .mkshrc .cshrc .tcshrc .login .logout .config/fish`,
  ),
  ...named('where_free', 'Git reads it when the directory is a home.', '.gitconfig .config/git'),
  ...named(
    'where_free',
    OTHER_REPOSITORY,
    '.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .jj/repo/config.toml .jj/workspace-config.toml',
  ),
  ...named(
    'where_free',
    PIPELINE,
    `.github/workflows .github/actions .gitea/workflows .forgejo/workflows .gitlab-ci.yml .gitlab/ci .circleci .travis.yml
     .buildkite .woodpecker .woodpecker.yml .woodpecker.yaml .drone.yml .cirrus.yml .cirrus.star .appveyor.yml appveyor.yml azure-pipelines.yml
     bitbucket-pipelines.yml Jenkinsfile`,
  ),
];

/** What a name leads to: a protected path, or a directory whose entries may be. */
export interface NameNode {
  readonly names: ReadonlyMap<string, NameNode>;
  readonly found: ProtectedName | undefined;
}

/** Nearly all names, and the other way to fold them takes ten times as long. */
const PLAIN = /^[ -~]*$/;

/** By names as `foldName` has them. */
export const NAME_TREE: NameNode = treeOf(PROTECTED_NAMES.map((each) => ({ rest: each.name.split('/'), each })));

/** Two names that some file system takes for one come out as one; so do those that only look different. */
export function foldName(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .normalize('NFKC');
}

function named(hold: Hold, reason: string, names: string): readonly ProtectedName[] {
  return names.split(/\s+/).map((name) => ({ name, hold, reason }));
}

interface Leading {
  readonly rest: readonly string[];
  readonly each: ProtectedName;
}

function treeOf(all: readonly Leading[]): NameNode {
  const groups = Map.groupBy(
    all.filter(({ rest }) => rest.length > 0),
    ({ rest: [first = ''] }) => foldName(first),
  );
  const below = [...groups].map(
    ([name, group]) => [name, treeOf(group.map(({ rest, each }) => ({ rest: rest.slice(1), each })))] as const,
  );
  return { names: new Map(below), found: all.find(({ rest }) => rest.length === 0)?.each };
}
