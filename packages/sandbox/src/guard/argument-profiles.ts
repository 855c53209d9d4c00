/** What is known of one program's arguments: an option that is not here is refused. */
export interface ArgumentProfile {
  readonly options: ReadonlyMap<string, OptionValue>;
  /** What an argument that is no option is; `pattern` is text once, and then come paths. */
  readonly operands: 'path' | 'text' | 'pattern' | 'guess';
  /** Options whose value is a pattern or a delimiter on every system; with one, no operand is the pattern. */
  readonly patternOptions: readonly string[];
  /** Which operands are written to. */
  readonly writes: 'none' | 'all' | 'last';
  /** `-5` is a number of lines. */
  readonly numeric: boolean;
  /** Its arguments are text from the first to the last. */
  readonly textOnly: boolean;
  /** A text among them that reaches files. */
  readonly refusedText: RegExp | undefined;
}

/** `none`: a flag. `optional`: attached or none. `named-path`: two arguments, a name and a path. */
export type OptionValue = 'none' | 'text' | 'path' | 'write' | 'optional' | 'named-text' | 'named-path';

export function argumentProfile(name: string): ArgumentProfile | undefined {
  return PROFILES.get(name);
}

const SUFFIXES: Readonly<Record<string, OptionValue>> = {
  ':': 'text',
  '@': 'path',
  '>': 'write',
  '?': 'optional',
  '%': 'named-text',
  '&': 'named-path',
};

/**
 * `abc` three flags, `n:` takes text, `f@` a path, `o>` a path that is written to; the same with `--long`, and
 * `--long?` or `i?` takes text only when it is attached.
 */
function profile(words: string, rest: Partial<Omit<ArgumentProfile, 'options'>> = {}): ArgumentProfile {
  const options = new Map<string, OptionValue>();
  for (const word of words.split(/\s+/).filter((part) => part !== '')) {
    const value = SUFFIXES[word.at(-1) ?? ''];
    const name = value === undefined ? word : word.slice(0, -1);
    const names = name.startsWith('--') ? [name] : name.split('').map((letter) => `-${letter}`);
    for (const option of names) options.set(option, value ?? 'none');
  }
  return { ...DEFAULTS, ...rest, options };
}

const DEFAULTS: Omit<ArgumentProfile, 'options'> = {
  operands: 'path',
  patternOptions: [],
  writes: 'none',
  numeric: false,
  textOnly: false,
  refusedText: undefined,
};

const TEXT = profile('', { textOnly: true, operands: 'text' });

const GREP = `ivwxcLloqshHnbaIrRUzTEFGPyu e: f@ m: A: B: C: d: D: --regexp: --file@ --ignore-case --no-ignore-case
  --invert-match --word-regexp --line-regexp --count --color? --colour? --files-with-matches --files-without-match
  --max-count: --only-matching --quiet --silent --no-messages --with-filename --no-filename --line-number --byte-offset
  --text --binary-files: --recursive --dereference-recursive --include: --exclude: --exclude-from@ --exclude-dir:
  --null --null-data --initial-tab --context: --after-context: --before-context: --extended-regexp --fixed-strings
  --basic-regexp --perl-regexp --label: --line-buffered --help --version`;

// Without -z, --pre and --search-zip, which start programs.
const RIPGREP = `ivwxcloqshHnNaIFPSsULu0p. e: f@ m: A: B: C: g: t: T: j: r: M: d: E: --regexp: --file@ --ignore-case
  --smart-case --case-sensitive --invert-match --word-regexp --line-regexp --count --count-matches --color: --files
  --files-with-matches --files-without-match --max-count: --only-matching --quiet --no-messages --with-filename
  --no-filename --line-number --no-line-number --column --byte-offset --text --fixed-strings --pcre2 --glob: --iglob:
  --type: --type-not: --type-list --hidden --no-ignore --no-ignore-vcs --ignore-file@ --max-depth: --follow --multiline
  --multiline-dotall --heading --no-heading --pretty --replace: --json --null --sort: --sortr: --stats --threads: --trim
  --vimgrep --context: --after-context: --before-context: --max-columns: --max-filesize: --encoding: --unrestricted
  --passthru --no-config --help --version`;

// Nothing with a program behind it: hooks, editors, pagers, external diffs and configuration stay out.
const GIT = `abcdefghilmnpqrstuvwzABDEFGHIKMNPRSTVWXY0123456789 C@ M? B? X? L: U: n: S? G: l: O@ --all --short --branch --porcelain? --long
  --show-stash --untracked-files? --ignored? --ignore-submodules? --renames --no-renames --find-renames? --column?
  --no-column --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --patch --no-patch --unified:
  --cached --staged --merge-base --raw --patch-with-stat --minimal --patience --histogram --diff-algorithm: --color?
  --no-color --word-diff? --word-diff-regex: --color-words? --color-moved? --check --full-index --binary --abbrev?
  --no-abbrev --break-rewrites? --find-copies? --find-copies-harder --diff-filter: --pickaxe-all --pickaxe-regex
  --relative? --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
  --inter-hunk-context: --function-context --exit-code --quiet --no-ext-diff --no-textconv --submodule? --src-prefix:
  --dst-prefix: --no-prefix --line-prefix: --ita-invisible-in-index --no-index --follow --decorate? --no-decorate
  --source --log-size --max-count: --skip: --since: --after: --until: --before: --author: --committer: --grep:
  --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges
  --no-merges --first-parent --not --branches? --tags? --remotes? --glob: --exclude: --reflog --cherry --cherry-pick
  --cherry-mark --left-only --right-only --left-right --graph --date: --parents --children --oneline --pretty? --format:
  --abbrev-commit --no-abbrev-commit --topo-order --date-order --author-date-order --reverse --ancestry-path
  --simplify-by-decoration --full-history --boundary --count --verify --show-toplevel --show-prefix --show-cdup
  --is-inside-work-tree --is-inside-git-dir --is-bare-repository --abbrev-ref? --symbolic --symbolic-full-name
  --absolute-git-dir --git-common-dir --list --show-current --contains? --no-contains? --merged? --no-merged? --points-at:
  --sort: --verbose --remotes --others --exclude-standard --modified --deleted --stage --unmerged --killed --full-name
  --error-unmatch --others --directory --update --intent-to-add --refresh --dry-run --force --ignore-errors --no-all
  --porcelain --line-porcelain --incremental --root --show-email --show-name --show-number --minimal --dirty? --always
  --long --match: --exact-match --candidates: --heads --dereference --hash? --numbered --email --untracked
  --line-number --files-with-matches --name-only --files-without-match --word-regexp --invert-match --ignore-case
  --max-depth: --recursive --context: --after-context: --before-context: --no-pager --no-optional-locks
  --literal-pathspecs --work-tree@ --no-replace-objects --version`;

const JQ = `nRsceCMraSj f@ L@ --null-input --raw-input --slurp --compact-output --color-output --monochrome-output
  --raw-output --raw-output0 --join-output --ascii-output --sort-keys --tab --indent: --unbuffered --stream --seq
  --exit-status --from-file@ --arg% --argjson% --slurpfile& --rawfile& --args --jsonargs --help --version`;

const SED = profile(
  'nErsuzb i? e: l: --expression: --quiet --silent --regexp-extended --in-place? --line-length: --posix --separate --sandbox --null-data --unbuffered --debug --help --version',
  { operands: 'pattern', patternOptions: ['-e', '--expression'] },
);

const PROFILES: ReadonlyMap<string, ArgumentProfile> = new Map(
  Object.entries({
    cat: profile(
      'AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --help --version',
    ),
    ls: profile(`aAbBcCdDfFgGhHiIklLmnNopqQrRsStuUvxXZ1 T: w: I: --all --almost-all --author --escape --block-size:
      --ignore-backups --color? --directory --dired --classify? --file-type --format: --full-time
      --group-directories-first --no-group --human-readable --si --dereference-command-line --hide: --hyperlink?
      --indicator-style: --inode --ignore: --kibibytes --dereference --numeric-uid-gid --literal --quote-name
      --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize: --width: --context --zero
      --help --version`),
    head: profile('qvz c: n: --bytes: --lines: --quiet --silent --verbose --zero-terminated --help --version', {
      numeric: true,
    }),
    tail: profile(
      'fFqvz c: n: s: --bytes: --follow? --lines: --max-unchanged-stats: --pid: --quiet --silent --retry --sleep-interval: --verbose --zero-terminated --help --version',
      { numeric: true },
    ),
    wc: profile('cmlLw --bytes --chars --lines --files0-from@ --max-line-length --words --total: --help --version'),
    grep: profile(GREP, { operands: 'pattern', patternOptions: ['-e', '-f', '--regexp', '--file'], numeric: true }),
    egrep: profile(GREP, { operands: 'pattern', patternOptions: ['-e', '-f', '--regexp', '--file'], numeric: true }),
    fgrep: profile(GREP, { operands: 'pattern', patternOptions: ['-e', '-f', '--regexp', '--file'], numeric: true }),
    rg: profile(RIPGREP, {
      operands: 'pattern',
      patternOptions: ['-e', '-f', '--regexp', '--file', '--files', '--type-list'],
    }),
    sed: SED,
    sort: profile(
      `bdfgiMhnRrVcCmsuz k: o> S: t: T> --ignore-leading-blanks --dictionary-order --ignore-case
      --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort
      --reverse --sort: --version-sort --batch-size: --check? --debug --files0-from@ --key: --merge --output>
      --stable --buffer-size: --field-separator: --temporary-directory> --parallel: --unique --zero-terminated --help --version`,
      { patternOptions: ['-t', '--field-separator'] },
    ),
    uniq: profile(
      'cdDiuz f: s: w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars: --unique --zero-terminated --check-chars: --help --version',
    ),
    cut: profile(
      'nsz b: c: d: f: --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated --help --version',
      { patternOptions: ['-d', '--delimiter', '--output-delimiter'] },
    ),
    diff: profile(`qsceunyptTlrNPiEZbwBaD F: U: C: W: x: X@ S: I: L: D: --normal --brief --report-identical-files --context?
      --unified? --ed --rcs --side-by-side --width: --left-column --suppress-common-lines --show-c-function
      --show-function-line: --label: --expand-tabs --initial-tab --tabsize: --recursive --no-dereference --new-file
      --unidirectional-new-file --ignore-case --ignore-file-name-case --exclude: --exclude-from@ --starting-file:
      --from-file@ --to-file@ --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space
      --ignore-blank-lines --ignore-matching-lines: --text --strip-trailing-cr --minimal --horizon-lines:
      --speed-large-files --color? --help --version`),
    stat: profile('Lft c: --dereference --file-system --format: --printf: --terse --cached: --help --version'),
    file: profile(
      'bchikLlnNprsSv0 e: F: f@ m@ P: --brief --mime --mime-type --mime-encoding --dereference --no-dereference --exclude: --separator: --files-from@ --magic-file@ --keep-going --no-pad --no-buffer --print0 --raw --help --version',
    ),
    du: profile(`0abcDHhkLlmPSsx B: d: t: X@ --null --all --apparent-size --block-size: --bytes --total --dereference-args
      --max-depth: --files0-from@ --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs
      --si --summarize --threshold: --time? --time-style: --exclude-from@ --exclude: --one-file-system --help --version`),
    mkdir: profile('pvZ m: --parents --verbose --mode: --help --version', { writes: 'all' }),
    cp: profile(
      `abdfiHlLnPpRrsTuvxZ S: t> --archive --attributes-only --backup? --copy-contents --force --interactive
      --dereference --no-clobber --no-dereference --preserve? --no-preserve: --parents --recursive --reflink?
      --remove-destination --sparse: --strip-trailing-slashes --suffix: --target-directory> --no-target-directory
      --update? --verbose --one-file-system --help --version`,
      { writes: 'last' },
    ),
    mv: profile(
      'bfinTuvZ S: t> --backup? --force --interactive --no-clobber --strip-trailing-slashes --suffix: --target-directory> --no-target-directory --update? --verbose --help --version',
      { writes: 'all' },
    ),
    rm: profile(
      'fiIrRdv --force --interactive? --one-file-system --preserve-root? --recursive --dir --verbose --help --version',
      { writes: 'all' },
    ),
    touch: profile('acfhm d: r@ t: --no-create --date: --no-dereference --reference@ --time: --help --version', {
      writes: 'all',
    }),
    // An import reads a file that no argument names.
    jq: profile(JQ, {
      operands: 'pattern',
      patternOptions: ['-f', '--from-file'],
      refusedText: /\b(?:import|include|modulemeta)\b/,
    }),
    git: profile(GIT, { operands: 'guess', patternOptions: ['--grep', '--author', '--committer'], numeric: true }),
    date: profile(
      'uR d: f@ r@ I --date: --file@ --iso-8601? --reference@ --rfc-email --rfc-3339: --utc --universal --debug',
      {
        operands: 'text',
      },
    ),
    pwd: profile('LP --logical --physical --help --version', { operands: 'text' }),
    echo: TEXT,
    printf: TEXT,
    true: TEXT,
    false: TEXT,
    sleep: TEXT,
    basename: TEXT,
    dirname: TEXT,
    seq: TEXT,
  }),
);
