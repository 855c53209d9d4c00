import type { InterpreterEntry } from './interpreter-entry.ts';

/** SECURITY: T-12 — an archive on a host that begins with a dash, as rsh or ssh is told it: `-oProxyCommand=id:x`. */
const HOST_WITH_DASH = /^(?:-[^-]|--[a-z-]+=(?:[^/]*@)?-|[^-/][^/]*@-)[^/]*:/;

/** Programs that are harmless until an option or a subcommand makes them start another one. */
export const RUNS_CODE_WITH_OPTIONS: readonly InterpreterEntry[] = [
  {
    kind: 'with',
    names: ['find', 'gfind', 'bfs'],
    does: 'starts a program for every file',
    options: { words: ['-exec', '-execdir', '-ok', '-okdir', '-fprintf', '-fprint', '-fprint0', '-fls'] },
  },
  {
    kind: 'with',
    names: ['fd', 'fdfind'],
    does: 'starts a program for every file',
    options: { short: 'xX', valued: 'dtesScjEGo', long: ['--exec', '--exec-batch'] },
  },
  {
    kind: 'with',
    names: ['sed', 'gsed', 'ssed', 'psed'],
    does: "runs a shell command by sed's e",
    options: { short: 'f', valued: 'eil', long: ['--file'] },
    script: 'sed',
  },
  {
    kind: 'with',
    names: ['git'],
    does: 'starts a program',
    options: {
      long: [
        '--exec',
        '--exec-path',
        '--config-env',
        '--upload-pack',
        '--receive-pack',
        '--ext-diff',
        '--textconv',
        '--open-files-in-pager',
        '--edit-description',
        '--show-signature',
        '--extcmd',
        // Opens the manual in a pager.
        '--help',
      ],
      harmless: ['--text'],
    },
    subcommands: {
      harmless: [
        'status diff log show add ls-files ls-tree rev-parse rev-list branch describe blame annotate shortlog grep',
        'cat-file merge-base name-rev for-each-ref show-ref check-ignore check-attr count-objects reflog diff-tree',
        'diff-index diff-files version cherry show-branch whatchanged range-diff var',
      ].flatMap((line) => line.split(' ')),
      // A git directory under another name than .git is a configuration that the agent may write, and that names programs.
      global: { short: 'cp', valued: 'C', long: ['--exec-path', '--config-env', '--paginate', '--git-dir', '--bare'] },
      globalValued: ['-C', '--work-tree', '--namespace', '--attr-source', '--list-cmds'],
      perCommand: {
        add: { short: 'epi', long: ['--edit', '--patch', '--interactive'] },
        grep: { short: 'O', valued: 'efABCm', long: ['--open-files-in-pager'] },
        branch: { long: ['--edit-description'] },
        'cat-file': { long: ['--textconv', '--filters'] },
        var: { starts: ['GIT_'] },
      },
    },
  },
  {
    kind: 'with',
    names: ['tar', 'gtar', 'bsdtar', 'star'],
    does: 'starts a program',
    options: {
      // -T too: a list of files may hold options, --checkpoint-action among them.
      short: 'IFT',
      valued: 'bCfgHKLNVX',
      long: [
        '--to-command',
        '--checkpoint-action',
        '--use-compress-program',
        '--rsh-command',
        '--rmt-command',
        '--info-script',
        '--new-volume-script',
        '--files-from',
      ],
      oldStyle: true,
      matches: HOST_WITH_DASH,
    },
  },
  {
    kind: 'with',
    names: ['cpio', 'mt'],
    does: 'starts a program',
    options: { long: ['--rsh-command'], matches: HOST_WITH_DASH },
  },
  {
    kind: 'with',
    names: ['rsync'],
    does: 'starts a program',
    options: { short: 'eM', valued: 'fTB', long: ['--rsh', '--rsync-path', '--daemon', '--config', '--remote-option'] },
  },
  {
    kind: 'with',
    // What begins with -J is for the Java machine that each of them is.
    names:
      'jar jarsigner javadoc javap jcmd jdeprscan jdeps jfr jimage jinfo jlink jmap jmod jpackage jps jstack jstat jstatd keytool rmiregistry serialver'.split(
        ' ',
      ),
    does: 'loads code',
    options: { starts: '-J @ -doclet -taglet -provider -addprovider -altsign -conf'.split(' ') },
  },
  {
    kind: 'with',
    names: ['scp'],
    does: 'starts a program',
    options: { short: 'SoFDJ', valued: 'cilPX' },
  },
  {
    kind: 'with',
    names: ['ssh-keygen', 'ssh-add', 'ssh-keyscan'],
    does: 'loads a library or starts a program',
    options: { short: 'DswSe', valued: 'fNCPtbIVnO' },
  },
  {
    kind: 'with',
    names: 'gcc g++ cc c++ cpp clang clang++ clang-cl tcc icc gfortran gdc gnat gccgo nvcc c89 c99'.split(' '),
    does: 'loads a plug-in or starts another program',
    options: {
      words: ['-wrapper', '-load', '-B', '-plugin', '-run', '-T'],
      starts:
        '-fplugin -fpass-plugin -specs --specs -wrapper -B -Wl,-plugin -Wl,--plugin -Wl,-T -fuse-ld -load -ld-path --ld-path -ccc --config -config @ -fno-integrated -run --prefix'.split(
          ' ',
        ),
    },
  },
  {
    kind: 'with',
    names: ['ld', 'ld.bfd', 'ld.gold', 'ld.lld', 'lld', 'mold', 'as', 'ar', 'gcc-ar', 'nm', 'gcc-nm', 'ranlib'],
    does: 'loads a plug-in',
    options: { starts: ['-plugin', '--plugin', '@'] },
  },
  {
    kind: 'with',
    names: ['protoc'],
    does: 'starts a plug-in',
    options: { long: ['--plugin'], starts: ['@'] },
  },
  {
    kind: 'with',
    names: ['zip'],
    does: 'starts a program to test the archive',
    options: { starts: ['-TT', '-rTT', '-qTT'], long: ['--unzip-command', '--test'], short: 'T', valued: 'bntx' },
  },
  {
    kind: 'with',
    names: ['curl'],
    does: 'takes options from a file or loads a library',
    options: { short: 'K', valued: 'AbcCdDeEFhHmoPQrtTuUwxXyYz', long: ['--config', '--engine'] },
  },
  {
    kind: 'with',
    names: ['wget', 'wget2'],
    does: 'takes commands or starts a program',
    options: {
      short: 'e',
      valued: 'oaiBtTOwPUQlARDIX',
      long: ['--execute', '--config', '--use-askpass', '--ca-program', '--plugin', '--plugin-dirs'],
    },
  },
  {
    kind: 'with',
    names: ['sort', 'gsort'],
    does: 'starts a program to compress',
    options: { long: ['--compress-program'] },
  },
  { kind: 'with', names: ['split', 'gsplit'], does: 'starts a program', options: { long: ['--filter'] } },
  {
    kind: 'with',
    names: ['rg', 'ripgrep', 'ug', 'ugrep'],
    does: 'starts a program for every file',
    options: { long: ['--pre', '--hostname-bin', '--filter', '--pager', '--view'] },
  },
  {
    kind: 'with',
    names: ['ag', 'ack', 'bat', 'batcat', 'delta', 'journalctl', 'apropos', 'whatis'],
    does: 'starts a pager',
    options: { long: ['--pager', '--output-handler'], words: ['-P', '-H'] },
  },
  {
    kind: 'with',
    names: ['tcpdump', 'tshark', 'dumpcap', 'nmap'],
    does: 'starts a program or runs a script',
    options: { short: 'z', long: ['--script', '--interactive', '--datadir'], starts: ['-sC', '-Xlua', 'lua_script'] },
  },
  {
    kind: 'with',
    names: ['openssl', 'gpg', 'gpg2', 'gpgsm', 'p11tool', 'pkcs11-tool'],
    does: 'loads a library or starts a program',
    options: {
      words: ['-engine', '-provider', '-provider-path', '--module'],
      long: ['--photo-viewer', '--agent-program', '--dirmngr-program', '--pinentry-mode', '--exec-path', '--options'],
    },
  },
  {
    kind: 'with',
    names: [
      'ctags',
      'ctags-universal',
      'ctags-exuberant',
      'etags',
      'exuberant-ctags',
      'universal-ctags',
      'cscope',
      'indent',
      'file-roller',
      '7z',
      '7za',
      '7zz',
      'rar',
    ],
    does: 'takes options from a file or starts a program',
    options: { long: ['--options', '--filter-command', '--_'], starts: ['@', '-o@'] },
  },
  {
    kind: 'with',
    names: ['install', 'ginstall'],
    does: 'starts a program to strip',
    options: { long: ['--strip-program'] },
  },
  {
    kind: 'with',
    names: ['diff3', 'sdiff'],
    does: 'starts another program to compare',
    options: { long: ['--diff-program'] },
  },
  {
    kind: 'with',
    names: ['sort', 'wc', 'du', 'xz', 'unxz', 'xzcat', 'lzma', 'zstd', 'unzstd', 'zstdcat'],
    does: 'reads the names of its files from a file',
    options: {
      long: ['--files0-from', '--files', '--files0', '--filelist', '--compress-program'],
      harmless: ['--compress'],
    },
  },
  {
    kind: 'with',
    names:
      'strings nm objdump objcopy readelf ar size strip addr2line c++filt elfedit gprof llvm-strings llvm-nm llvm-objdump llvm-objcopy llvm-readelf llvm-readobj llvm-ar llvm-ranlib llvm-lib llvm-size llvm-strip llvm-addr2line llvm-symbolizer llvm-cxxfilt llvm-dwarfdump'.split(
        ' ',
      ),
    does: 'reads more arguments from a file',
    options: { starts: ['@'] },
  },
];
