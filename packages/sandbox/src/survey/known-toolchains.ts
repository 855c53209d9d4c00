/** A place that a tool manager keeps its tools in. */
export interface KnownToolchain {
  /** Begins with `~/` or `/`; `*` stands for the rest of one name. What it matches is mounted. */
  readonly at: string;
  /** Only these of it: the rest is data, not tools. */
  readonly parts?: readonly string[];
  /** What it does not work without. */
  readonly with?: readonly string[];
  /** Tells its programs where they are, for the tool's home is not the operator's. */
  readonly variable?: string;
  /** Belongs to a user of its own, or to whoever installed it. */
  readonly shared?: true;
}

export interface FoundToolchain {
  readonly toolchain: KnownToolchain;
  readonly directory: string;
}

// No var: Homebrew's databases live there. Of etc only what TLS needs.
const HOMEBREW: Omit<KnownToolchain, 'at'> = {
  parts: [
    'bin',
    'sbin',
    'lib',
    'libexec',
    'include',
    'share',
    'opt',
    'Cellar',
    'Frameworks',
    'etc/ca-certificates',
    'etc/openssl@3',
  ],
  shared: true,
};

/** Deeper before wider where one holds the other. Of cargo only the programs: what lies beside them holds tokens. */
const KNOWN_TOOLCHAINS: readonly KnownToolchain[] = [
  { at: '/nix/store', shared: true },
  { at: '/home/linuxbrew/.linuxbrew', ...HOMEBREW },
  { at: '/opt/homebrew', ...HOMEBREW },
  { at: '~/.linuxbrew', ...HOMEBREW },
  { at: '/opt/*' },
  { at: '~/.nvm/versions/node/*' },
  { at: '~/.local/share/fnm/node-versions/*' },
  { at: '~/.fnm/node-versions/*' },
  { at: '~/.local/share/nvm/versions/node/*' },
  { at: '~/.volta', variable: 'VOLTA_HOME' },
  { at: '~/.npm-global' },
  { at: '~/.npm-packages' },
  { at: '~/.local/share/pnpm', variable: 'PNPM_HOME' },
  { at: '~/.bun/bin' },
  { at: '~/.bun/install/global' },
  { at: '~/.deno/bin' },
  { at: '~/.pyenv', variable: 'PYENV_ROOT' },
  { at: '~/.local/share/pipx/venvs/*' },
  { at: '~/.local/pipx/venvs/*' },
  { at: '~/.local/share/uv/tools/*' },
  { at: '~/.local/share/uv/python/*' },
  { at: '~/miniconda3' },
  { at: '~/miniforge3' },
  { at: '~/anaconda3' },
  { at: '~/.rbenv', variable: 'RBENV_ROOT' },
  { at: '~/.rvm/rubies/*' },
  { at: '~/.cargo/bin', with: ['~/.rustup'] },
  { at: '~/.rustup', variable: 'RUSTUP_HOME' },
  { at: '~/.local/share/mise', variable: 'MISE_DATA_DIR' },
  { at: '~/.asdf', variable: 'ASDF_DATA_DIR' },
  { at: '~/.sdkman/candidates/*/*' },
  { at: '~/.ghcup' },
  { at: '~/.opam/*' },
  { at: '~/.dotnet', variable: 'DOTNET_ROOT' },
  { at: '~/sdk/go*' },
  { at: '~/go/bin' },
  { at: '~/.local/lib/*' },
  { at: '~/.local/opt/*' },
];

/** Both paths resolved. */
export function knownToolchainOf(path: string, home: string): FoundToolchain | undefined {
  for (const toolchain of KNOWN_TOOLCHAINS) {
    const directory = matchedPrefix(path, atHome(toolchain.at, home));
    if (directory !== undefined) return { toolchain, directory };
  }
  return undefined;
}

export function atHome(path: string, home: string): string {
  return path.startsWith('~/') ? `${home === '/' ? '' : home}${path.slice(1)}` : path;
}

function matchedPrefix(path: string, pattern: string): string | undefined {
  const segments = path.split('/');
  const wanted = pattern.split('/');
  const fits = wanted.every((want, index) => {
    const segment = segments[index];
    if (segment === undefined) return false;
    return want.endsWith('*') ? segment.startsWith(want.slice(0, -1)) && segment !== '' : segment === want;
  });
  return fits ? segments.slice(0, wanted.length).join('/') : undefined;
}
