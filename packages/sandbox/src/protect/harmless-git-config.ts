import { dirname, isAbsolute } from 'node:path';
import { type FollowPath, pathFrom } from './follow-path.ts';
import type { ConfigEntry } from './git-config.ts';
import { isIn } from './running-watches.ts';

export interface ConfigPlace {
  /** Of the file. */
  readonly path: string;
  /** What the tool may write. */
  readonly roots: readonly string[];
  readonly follow: FollowPath;
}

/**
 * SECURITY: T-15, T-45 — by a list of what is harmless, for git learns to start programs from new keys: hooksPath,
 * fsmonitor, sshCommand, pager, editor, filters, drivers, helpers, aliases and includes are only the known ones.
 */
export function isHarmless(entry: ConfigEntry, place: ConfigPlace): boolean {
  const { section, subsection, key, value } = entry;
  const name = subsection === undefined ? `${section}.${key}` : `${section}.*.${key}`;
  const isAllowed = CONDITIONS[name];
  if (isAllowed !== undefined) return isAllowed(value, place);
  if (section === 'branch' && subsection !== undefined) return key !== 'mergeoptions';
  return HARMLESS.has(name);
}

/** As a person reads it. The value may be anything that the tool wrote, and is left out. */
export function keyOf({ section, subsection, key }: ConfigEntry): string {
  return subsection === undefined ? `${section}.${key}` : `${section}.<name>.${key}`;
}

type Condition = (value: string | undefined, place: ConfigPlace) => boolean;

/** A path or a URL of a transport that git brings along; `helper::address` starts a program. */
const isOrdinaryUrl: Condition = (value = '') =>
  !value.includes('::') &&
  (/^(?:https?|ssh|git|file):\/\//i.test(value) || !value.includes('://')) &&
  !value.startsWith('-');

const isBoolean: Condition = (value) => value === undefined || /^(?:true|false|yes|no|on|off|0|1|)$/i.test(value);

/** Those that git brings along. Of any other it starts `git-merge-NAME`, and that may be a path. */
export const STRATEGIES: ReadonlySet<string> = new Set(['ort', 'recursive', 'resolve', 'octopus', 'ours', 'subtree']);

const areOwnStrategies: Condition = (value = '') =>
  value.split(' ').every((each) => each === '' || STRATEGIES.has(each));

const CONDITIONS: Readonly<Record<string, Condition>> = {
  'remote.*.url': isOrdinaryUrl,
  'remote.*.pushurl': isOrdinaryUrl,
  'submodule.*.url': isOrdinaryUrl,
  'branch.*.remote': isOrdinaryUrl,
  'branch.*.pushremote': isOrdinaryUrl,
  'submodule.*.update': (value = '') => /^(?:checkout|rebase|merge|none)$/.test(value),
  'pull.twohead': areOwnStrategies,
  'pull.octopus': areOwnStrategies,
  // A program, when it is not a boolean.
  'core.fsmonitor': isBoolean,
  // SECURITY: T-15 — whose checkout lies elsewhere writes there what the repository holds, also by a link. Of submodules
  // it is relative.
  'core.worktree': (value = '/', { path, roots, follow }) =>
    !isAbsolute(value) && isIn(follow(pathFrom(dirname(path), value)).end, roots),
};

/** What git itself, clones, worktrees, submodules and people write into a repository's configuration. */
const HARMLESS: ReadonlySet<string> = new Set(
  `core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
   core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath core.abbrev core.compression core.loosecompression
   core.bigfilethreshold core.sparsecheckout core.sparsecheckoutcone core.untrackedcache core.preloadindex
   core.commitgraph core.multipackindex core.fsync core.fsyncmethod core.longpaths core.protectntfs core.protecthfs
   core.hidedotfiles core.trustctime core.checkstat core.commentchar core.whitespace core.splitindex
   core.sharedrepository core.warnambiguousrefs core.packedgitlimit core.packedgitwindowsize core.deltabasecachelimit
   extensions.objectformat extensions.compatobjectformat extensions.refstorage extensions.worktreeconfig
   extensions.partialclone extensions.preciousobjects extensions.noop extensions.relativeworktrees
   user.name user.email user.signingkey user.useconfigonly author.name author.email committer.name committer.email
   init.defaultbranch init.defaultobjectformat
   remote.pushdefault remote.*.fetch remote.*.push remote.*.mirror remote.*.prune remote.*.prunetags remote.*.tagopt
   remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.promisor remote.*.partialclonefilter remote.*.gh-resolved
   remote.*.followremotehead branch.autosetupmerge branch.autosetuprebase branch.sort
   submodule.active submodule.recurse submodule.propagatebranches submodule.fetchjobs submodule.alternatelocation
   submodule.alternateerrorstrategy submodule.*.active submodule.*.branch submodule.*.ignore submodule.*.path
   submodule.*.shallow submodule.*.fetchrecursesubmodules
   pull.rebase pull.ff push.default push.autosetupremote push.followtags push.useforceifincludes
   fetch.prune fetch.prunetags fetch.parallel fetch.fsckobjects fetch.writecommitgraph fetch.recursesubmodules
   transfer.fsckobjects receive.fsckobjects receive.denycurrentbranch receive.denynonfastforwards receive.denydeletes
   receive.autogc receive.advertisepushoptions uploadpack.allowfilter uploadpack.allowanysha1inwant
   uploadpack.allowreachablesha1inwant uploadpack.allowtipsha1inwant http.receivepack http.uploadpack
   merge.ff merge.conflictstyle merge.renames merge.renamelimit merge.log merge.stat merge.autostash
   merge.directoryrenames rebase.autosquash rebase.autostash rebase.updaterefs rebase.stat rebase.abbreviatecommands
   rebase.missingcommitscheck rebase.rebasemerges rebase.forkpoint
   diff.algorithm diff.renames diff.renamelimit diff.colormoved diff.context diff.noprefix diff.mnemonicprefix
   diff.submodule diff.ignoresubmodules diff.interhunkcontext diff.indentheuristic diff.relative diff.statgraphwidth
   diff.suppressblankempty diff.wserrorhighlight
   commit.gpgsign commit.verbose commit.status commit.cleanup tag.gpgsign tag.sort tag.forcesignannotated push.gpgsign
   log.date log.decorate log.follow log.showsignature log.abbrevcommit status.short status.branch status.showstash
   status.showuntrackedfiles status.relativepaths status.renames status.submodulesummary
   gc.auto gc.autopacklimit gc.autodetach gc.pruneexpire gc.worktreepruneexpire gc.reflogexpire
   gc.reflogexpireunreachable gc.packrefs gc.writecommitgraph gc.bigpackthreshold gc.cruftpacks gc.aggressivedepth
   gc.aggressivewindow maintenance.auto maintenance.strategy maintenance.*.enabled maintenance.*.schedule
   maintenance.*.auto pack.threads pack.windowmemory pack.window pack.depth pack.usesparse pack.writebitmaps
   pack.compression pack.packsizelimit index.threads index.version index.sparse index.skiphash index.recordendofindexentries
   feature.manyfiles feature.experimental color.ui color.diff color.status color.branch color.interactive column.ui
   checkout.defaultremote checkout.guess checkout.workers clean.requireforce grep.linenumber grep.patterntype
   rerere.enabled rerere.autoupdate stash.showpatch stash.showstat stash.showincludeuntracked worktree.guessremote
   worktree.userelativepaths sparse.expectfilesoutsideofpatterns i18n.commitencoding i18n.logoutputencoding
   apply.whitespace apply.ignorewhitespace am.threeway am.keepcr blame.coloring blame.ignorerevsfile blame.markignoredlines
   notes.rewritemode notes.rewriteref notes.displayref versionsort.suffix advice.detachedhead advice.statushints
   advice.addignoredfile advice.pushupdaterejected advice.skippedcherrypicks advice.forcedeleteBranch
   lfs.repositoryformatversion lfs.*.access`
    .toLowerCase()
    .split(/\s+/),
);
