import type { CodeOptions } from './code-options.ts';
import type { InterpreterEntry, ScriptOperand } from './interpreter-entry.ts';
import { RUNS_CODE_WITH_OPTIONS } from './option-interpreters.ts';

/** Run as another program by the name they are called with. */
export const MULTI_CALL: ReadonlySet<string> = new Set(['busybox', 'toybox', 'coreutils', 'uutils']);

export function interpreterEntries(names: readonly string[]): readonly InterpreterEntry[] {
  return [...new Set(names.flatMap((name) => BY_NAME.get(name) ?? []).map(({ entry }) => entry))];
}

type AlwaysEntry = Extract<InterpreterEntry, { kind: 'always' }>;

function always(does: string, names: string, evaluates?: CodeOptions): AlwaysEntry {
  return { kind: 'always', does, names: names.split(' '), ...(evaluates === undefined ? {} : { evaluates }) };
}

function running(entry: AlwaysEntry, operand: ScriptOperand): AlwaysEntry {
  return { ...entry, operand };
}

const SHELLS =
  'sh bash dash zsh ksh ksh93 mksh lksh pdksh oksh loksh yash posh fish csh tcsh ash hush rbash rksh rzsh es rc elvish nu nushell xonsh osh oil ion scsh git-shell';

const WRAPPERS =
  'env xargs nice nohup timeout gtimeout stdbuf setsid chroot unshare nsenter sudo sudoedit doas su runuser pkexec gosu su-exec setpriv capsh taskset ionice chrt choom prlimit numactl setarch linux32 linux64 i386 x86_64 uname26 time command exec flock script scriptreplay expect unbuffer rlwrap screen tmux byobu dtach abduco watch entr parallel sem run-parts start-stop-daemon at batch atd crontab anacron systemd-run systemctl machinectl loginctl busctl dbus-run-session dbus-launch xvfb-run fakeroot fakechroot proot bwrap firejail docker podman nerdctl ctr crictl runc crun lxc lxc-attach kubectl oc helm vagrant ip newgrp sg login faketime eatmydata catchsegv daemonize cpulimit direnv dotenv chpst softlimit envdir setuidgid s6-setuidgid tini dumb-init catatonit multitime hyperfine uclampset runcon systemd-cat systemd-inhibit systemd-socket-activate gio gapplication not scriptlive logsave luit agetty getty sulogin switch_root pivot_root ccache sccache distcc icecc mise asdf volta fnm devbox devenv flox pixi rye watchexec watchman sshpass autossh aws-vault chamber doppler sops op gprofng gp-collect-app chronic ifne pee mispipe lckdo proxychains proxychains4 torsocks torify tsp';

const DEBUGGERS =
  'strace ltrace gdb gdbserver lldb valgrind perf bpftrace stap ld.so ldd dtrace uftrace rr pmap-gdb cgdb ddd radare2 r2 jdb jhsdb jconsole bugpoint llvm-reduce llvm-jitlink llvm-jitlink-executor llvm-rtdyld llvm-exegesis';

const BUILDERS =
  'make gmake bmake nmake cmake ctest ninja samu just task rake scons meson bazel bazelisk buck buck2 ant mvn mvnw gradle gradlew sbt lein mill npm npx pnpm pnpx yarn yarnpkg corepack bunx tsx ts-node pip pipx pipenv poetry uv uvx pdm hatch tox nox pytest conda mamba easy_install cargo rustup rustc go gofmt-run gem bundle bundler composer cpan cpanm cabal stack mix rebar3 dotnet msbuild nuget swift xcodebuild dune opam luarocks zig nimble dub nix nix-shell nix-build nix-env guix brew apt apt-get apt-cache apt-cdrom apt-config apt-mark apt-ftparchive aptitude dpkg dnf yum rpm rpmbuild apk pacman snap flatpak ansible ansible-playbook terraform tofu packer pre-commit husky rustdoc kpt lerna nx turbo vite webpack jest vitest mocha eslint prettier';

const EDITORS =
  'vi vim view vimdiff rvim rview gvim nvim ex ed red emacs emacsclient xemacs mg jed joe nano pico micro helix hx kak mcedit mc less more most pg man info pinfo w3m lynx links elinks ranger nnn lf fzf lesspipe lessopen';

const OTHERS =
  'ssh sftp ftp lftp ncftp telnet socat nc ncat netcat m4 dc sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli duckdb gnuplot gs ghostscript tex latex pdftex pdflatex xelatex luatex lualatex groff troff octave matlab maxima gap sage gnuradio bc-run logrotate gpg-agent ssh-agent dbus-send gdbus osascript open xdg-open wine wine64 mono qemu-x86_64 qemu-aarch64 box64 wasmtime wasmer rpcgen cscript wscript cmd hg svn darcs fossil gh glab act svk bzr jj scalar tig lazygit gitui pandoc bison doxygen aria2c mlr pic gpic dbus-daemon llvm-cov ncdu mosh dbclient plink xterm rxvt urxvt rclone restic';

/** Programs that are told by their input or by a file of settings what to load or to start. */
const LOADERS =
  'wget msgexec msgfilter opt llc lli openssl cpack pg_ctl pg_upgrade initdb postgres gpg gpg2 gpgsm gpgtar gpgconf gpg-connect-agent gpg-wks-server gpg-wks-client dirmngr mutt mail mailx sendmail';

/** What they compile names files that they read, wherever those are. */
const COMPILERS =
  'cc gcc g++ c++ cpp clang clang++ clang-cpp tcc as ld gold lld collect2 gfortran gccgo gdc rustc cc1 cc1plus lto1 lto-dump';

const RUNS_CODE: readonly InterpreterEntry[] = [
  running(always('is a shell', SHELLS, { short: 'cs', valued: 'oO', long: ['--command', '--init-file', '--rcfile'] }), {
    names: 'sh bash dash zsh ksh ksh93 mksh lksh pdksh oksh loksh yash posh ash hush rbash'.split(' '),
    flags: 'abefhiklmnprtuvxBCEHPT',
    valued: 'oO',
    long: ['--norc', '--noprofile', '--posix', '--login', '--verbose', '--restricted'],
  }),
  always('is a shell', 'pwsh powershell powershell_ise', {
    powershell: ['encodedcommand', 'ec', 'command', 'commandwithargs', 'cwa', 'file', 'encodedarguments'],
  }),
  running(
    always('runs Python', 'python pythonw pypy ipython jython micropython circuitpython bpython graalpy pyenv', {
      short: 'cm',
      valued: 'WXQ',
    }),
    { names: ['python', 'pypy'], flags: 'bBdEiIOPqRsSuvx', valued: 'WX' },
  ),
  running(
    always('runs JavaScript', 'node nodejs deno bun qjs quickjs d8 jsc js rhino jjs mujs hermes electron nodemon', {
      short: 'epr',
      long: ['--eval', '--print', '--require', '--import', '--loader'],
      words: ['eval', 'run', 'exec', 'x', 'repl'],
    }),
    {
      names: ['node', 'nodejs'],
      flags: '',
      long: ['--no-warnings', '--enable-source-maps', '--trace-warnings', '--trace-uncaught', '--expose-gc'],
      // SECURITY: T-04 — of all options with a value: most others name code, data or settings that run before the script.
      longValued: [
        '--max-old-space-size',
        '--max_old_space_size',
        '--max-semi-space-size',
        '--max-http-header-size',
        '--stack-size',
        '--stack-trace-limit',
        '--unhandled-rejections',
        '--dns-result-order',
      ],
    },
  ),
  running(always('runs Perl', 'perl raku perl6 rakudo prove', { short: 'eEMm', valued: 'IiFCx' }), {
    names: ['perl'],
    flags: 'lnpatTuUvwW',
  }),
  running(always('runs Ruby', 'ruby irb jruby truffleruby mruby erb rbenv', { short: 'er', valued: 'CIKEW' }), {
    names: ['ruby'],
    flags: 'alnpvw',
  }),
  running(
    always('runs PHP', 'php php-cgi php-fpm phpdbg hhvm', {
      short: 'rBREF',
      valued: 'cdz',
      long: ['--run', '--process-code'],
    }),
    { names: ['php'], flags: 'nq' },
  ),
  running(always('runs Lua', 'lua luajit luau texlua moon', { short: 'el' }), {
    names: ['lua', 'luajit'],
    flags: 'Ei',
  }),
  running(always('runs Tcl', 'tclsh wish jimsh expectk tclkit', { short: 'c' }), { names: ['tclsh'], flags: '' }),
  running(always('runs R', 'r rscript littler', { short: 'e', long: ['--eval', '--file'] }), {
    names: ['rscript'],
    flags: '',
  }),
  always('runs Julia', 'julia', { short: 'eEL', long: ['--eval', '--print', '--load'] }),
  always(
    'runs Java',
    'java javaw jshell javac jrunscript kotlin kotlinc scala scalac groovy clojure clj bb gjs jexec',
    {
      words: ['-cp', '-classpath', '--class-path', '-jar', '--source', '-e'],
      starts: ['-javaagent', '-agent', '@'],
    },
  ),
  always(
    'runs a language of its own',
    'guile racket scheme mit-scheme chicken csi gsi sbcl clisp ecl ccl newlisp picolisp erl escript elixir iex ghci runghc runhaskell ocaml ocamlrun utop swipl prolog gprolog nim crystal io janet fennel gawk awk mawk nawk original-awk bwk goawk frawk busybox toybox coreutils uutils',
    {
      short: 'eE',
      long: ['--eval', '--coreutils-prog'],
      starts: ['BEGIN'],
    },
  ),
  always('starts another program', WRAPPERS),
  always('runs or loads another program', DEBUGGERS),
  always("runs a project's code", BUILDERS),
  always('can start programs from within', EDITORS),
  always('can start programs', OTHERS),
  always('loads or starts what its input or settings name', LOADERS),
  always('reads whatever its input names', COMPILERS),
];

const INTERPRETERS: readonly InterpreterEntry[] = [...RUNS_CODE, ...RUNS_CODE_WITH_OPTIONS];

const BY_NAME: ReadonlyMap<string, readonly { readonly entry: InterpreterEntry }[]> = Map.groupBy(
  INTERPRETERS.flatMap((entry) => entry.names.map((name) => ({ name, entry }))),
  ({ name }) => name,
);
