import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CREDENTIAL_PATHS } from './credential-paths.ts';
import type { FileFacts, SurveyFiles } from './survey-files.ts';
import { findToolchains, type ToolchainQuestion, type Toolchains } from './toolchains.ts';

const HOME = '/home/op';
const OPERATOR = { uid: 1000, gid: 1000 };

/** `→ target` is a link, `/` a directory, anything else a program. */
type Tree = Readonly<Record<string, string>>;
type Modes = Readonly<Record<string, Partial<FileFacts>>>;

/** Parents come by themselves; what is below the home is the operator's, the rest root's. */
function fakeFiles(tree: Tree, modes: Modes = {}): SurveyFiles {
  const nodes = new Map<string, string>([['/', '/']]);
  for (const [path, node] of Object.entries(tree)) {
    const segments = path.split('/').slice(1);
    for (let length = 1; length < segments.length; length += 1) {
      const parent = `/${segments.slice(0, length).join('/')}`;
      if (!nodes.has(parent)) nodes.set(parent, '/');
    }
    nodes.set(path, node);
  }
  const factsOf = (path: string | undefined): FileFacts | undefined => {
    const node = path === undefined ? undefined : nodes.get(path);
    if (path === undefined || node === undefined) return undefined;
    const kind = node.startsWith('→') ? 'link' : node === '/' ? 'directory' : 'file';
    const owner = path.startsWith(HOME) ? OPERATOR : { uid: 0, gid: 0 };
    return { kind, ...owner, mode: 0o755, ...modes[path] };
  };
  const resolve = (path: string, hops = 0): string | undefined => {
    let at = '/';
    const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
    for (const [index, segment] of segments.entries()) {
      at = segment === '..' ? join(at, '..') : join(at, segment);
      const node = nodes.get(at);
      if (node === undefined || hops > 20) return undefined;
      if (!node.startsWith('→ ')) continue;
      const target = join('/', node.startsWith('→ /') ? '' : join(at, '..'), node.slice(2));
      return resolve(join(target, ...segments.slice(index + 1)), hops + 1);
    }
    return at;
  };
  const parentResolved = (path: string) => {
    const parent = resolve(join(path, '..'));
    return parent === undefined ? undefined : join(parent, path.slice(path.lastIndexOf('/') + 1));
  };
  return {
    realPath: (path) => resolve(path),
    stat: (path) => factsOf(resolve(path)),
    lstat: (path) => factsOf(parentResolved(path)),
    list: (path) => {
      const real = resolve(path) ?? '?';
      return [...nodes.keys()]
        .filter((each) => each !== '/' && join(each, '..') === real)
        .map((each) => each.slice(each.lastIndexOf('/') + 1))
        .toSorted();
    },
    readText: () => undefined,
    readBytes: () => undefined,
  };
}

interface Asked extends Partial<ToolchainQuestion> {
  readonly tree: Tree;
  readonly modes?: Modes;
}

function survey({ tree, modes, path = Object.keys(tree)[0] ?? '', ...changed }: Asked): Toolchains {
  const places = { home: HOME, palyraHome: `${HOME}/.palyra`, workspace: `${HOME}/work/shop`, environment: {} };
  return findToolchains({ ...places, operator: OPERATOR, path, files: fakeFiles(tree, modes), ...changed });
}

const NOTHING: Toolchains = { path: '', readOnly: [], masked: [], environment: {}, remarks: [] };

describe('each tool manager', () => {
  test.each<[string, string, Tree, Partial<Toolchains>]>([
    [
      'nvm: one version, its npm settings masked',
      '/home/op/.nvm/versions/node/v22.1.0/bin',
      { '/home/op/.nvm/versions/node/v22.1.0/bin/node': 'x', '/home/op/.nvm/versions/node/v22.1.0/etc/npmrc': 'token' },
      {
        readOnly: ['/home/op/.nvm/versions/node/v22.1.0'],
        masked: ['/home/op/.nvm/versions/node/v22.1.0/etc/npmrc'],
      },
    ],
    [
      'pyenv',
      '/home/op/.pyenv/shims',
      { '/home/op/.pyenv/shims/python': 'x', '/home/op/.pyenv/versions/3.13/pip.conf': 'token' },
      {
        readOnly: ['/home/op/.pyenv'],
        masked: ['/home/op/.pyenv/versions/3.13/pip.conf'],
        environment: { PYENV_ROOT: '/home/op/.pyenv' },
      },
    ],
    [
      'pipx: what a virtual environment was installed with',
      '/home/op/.local/share/pipx/venvs/black/bin',
      {
        '/home/op/.local/share/pipx/venvs/black/bin/black': 'x',
        '/home/op/.local/share/pipx/venvs/black/pipx_metadata.json': 'token',
      },
      {
        readOnly: ['/home/op/.local/share/pipx/venvs/black'],
        masked: ['/home/op/.local/share/pipx/venvs/black/pipx_metadata.json'],
      },
    ],
    [
      '.NET: the private keys of certificates',
      '/home/op/.dotnet',
      {
        '/home/op/.dotnet/dotnet': 'x',
        '/home/op/.dotnet/corefx/cryptography/x509stores/my/a.pfx': 'key',
      },
      {
        readOnly: ['/home/op/.dotnet'],
        masked: ['/home/op/.dotnet/corefx/cryptography'],
        environment: { DOTNET_ROOT: '/home/op/.dotnet' },
      },
    ],
    [
      'cargo and rustup: the programs, and nothing that lies beside them',
      '/home/op/.cargo/bin',
      {
        '/home/op/.cargo/bin/cargo': 'x',
        '/home/op/.cargo/credentials.toml': 'token',
        '/home/op/.rustup/toolchains/stable/bin/rustc': 'x',
      },
      { readOnly: ['/home/op/.cargo/bin', '/home/op/.rustup'], environment: { RUSTUP_HOME: '/home/op/.rustup' } },
    ],
    [
      'mise, with shims that lead to its program',
      '/home/op/.local/share/mise/shims',
      { '/home/op/.local/share/mise/shims/node': '→ /home/op/.local/bin/mise', '/home/op/.local/bin/mise': 'x' },
      {
        readOnly: ['/home/op/.local/bin/mise', '/home/op/.local/share/mise'],
        environment: { MISE_DATA_DIR: '/home/op/.local/share/mise' },
      },
    ],
    [
      'asdf',
      '/home/op/.asdf/shims',
      { '/home/op/.asdf/shims/ruby': 'x' },
      { readOnly: ['/home/op/.asdf'], environment: { ASDF_DATA_DIR: '/home/op/.asdf' } },
    ],
    [
      'volta',
      '/home/op/.volta/bin',
      { '/home/op/.volta/bin/node': '→ volta-shim', '/home/op/.volta/bin/volta-shim': 'x' },
      { readOnly: ['/home/op/.volta'], environment: { VOLTA_HOME: '/home/op/.volta' } },
    ],
    [
      'Homebrew: its tools and not its databases',
      '/home/linuxbrew/.linuxbrew/bin',
      {
        '/home/linuxbrew/.linuxbrew/bin/jq': '→ ../Cellar/jq/1/bin/jq',
        '/home/linuxbrew/.linuxbrew/Cellar/jq/1/bin/jq': 'x',
        '/home/linuxbrew/.linuxbrew/var/postgres/data': 'x',
      },
      { readOnly: ['/home/linuxbrew/.linuxbrew/Cellar', '/home/linuxbrew/.linuxbrew/bin'] },
    ],
    ['go', '/home/op/go/bin', { '/home/op/go/bin/gopls': 'x' }, { readOnly: ['/home/op/go/bin'] }],
    ['deno', '/home/op/.deno/bin', { '/home/op/.deno/bin/deno': 'x' }, { readOnly: ['/home/op/.deno/bin'] }],
    [
      'bun, with global packages',
      '/home/op/.bun/bin',
      { '/home/op/.bun/bin/tsc': '→ ../install/global/tsc', '/home/op/.bun/install/global/tsc': 'x' },
      { readOnly: ['/home/op/.bun/bin', '/home/op/.bun/install/global'] },
    ],
    ['ghcup', '/home/op/.ghcup/bin', { '/home/op/.ghcup/bin/ghc': 'x' }, { readOnly: ['/home/op/.ghcup'] }],
    ['/opt', '/opt/tool/bin', { '/opt/tool/bin/tool': 'x' }, { readOnly: ['/opt/tool'] }],
  ])('%s', (_, path, tree, expected) => {
    expect(survey({ tree, path })).toEqual({ ...NOTHING, path, ...expected });
  });

  test('fnm and sdkman: links lead to the version', () => {
    const found = survey({
      path: '/run/user/1000/fnm_multishells/1_2/bin:/home/op/.sdkman/candidates/java/current/bin',
      environment: { JAVA_HOME: '/home/op/.sdkman/candidates/java/current', GOROOT: '/home/op/.ssh' },
      tree: {
        '/run/user/1000/fnm_multishells/1_2': '→ /home/op/.local/share/fnm/node-versions/v22/installation',
        '/home/op/.local/share/fnm/node-versions/v22/installation/bin/node': 'x',
        '/home/op/.sdkman/candidates/java/current': '→ 21-tem',
        '/home/op/.sdkman/candidates/java/21-tem/bin/java': 'x',
        '/home/op/.ssh/id': 'x',
      },
    });
    expect(found).toEqual({
      ...NOTHING,
      path: '/home/op/.local/share/fnm/node-versions/v22/installation/bin:/home/op/.sdkman/candidates/java/21-tem/bin',
      readOnly: ['/home/op/.local/share/fnm/node-versions/v22', '/home/op/.sdkman/candidates/java/21-tem'],
      environment: { JAVA_HOME: '/home/op/.sdkman/candidates/java/21-tem' },
    });
  });

  test('nix: profiles lead to the store', () => {
    const found = survey({
      path: '/home/op/.nix-profile/bin:/run/current-system/sw/bin',
      tree: {
        '/home/op/.nix-profile': '→ /nix/store/aa-env',
        '/run/current-system': '→ /nix/store/bb-system',
        '/nix/store/aa-env/bin/jq': 'x',
        '/nix/store/bb-system/sw/bin/sh': 'x',
      },
      modes: { '/nix/store': { gid: 30_000, mode: 0o1775 } },
    });
    expect(found).toEqual({
      ...NOTHING,
      path: '/nix/store/aa-env/bin:/nix/store/bb-system/sw/bin',
      readOnly: ['/nix/store'],
    });
  });

  test('~/.local/bin: pipx and uv environments with their Python, single programs otherwise', () => {
    const found = survey({
      path: '/home/op/.local/bin',
      tree: {
        '/home/op/.local/bin/black': '→ ../share/pipx/venvs/black/bin/black',
        '/home/op/.local/share/pipx/venvs/black/bin/black': 'x',
        '/home/op/.local/bin/ruff': '→ ../share/uv/tools/ruff/bin/ruff',
        '/home/op/.local/share/uv/tools/ruff/bin/ruff': 'x',
        '/home/op/.local/share/uv/tools/ruff/pyvenv.cfg': 'x',
        '/home/op/.local/share/uv/tools/ruff/bin/python': '→ /home/op/.local/share/uv/python/cpython-3.13/bin/python3',
        '/home/op/.local/share/uv/python/cpython-3.13/bin/python3': 'x',
        '/home/op/.local/bin/mine': '→ /home/op/projects/mine/tool',
        '/home/op/projects/mine/tool': 'x',
        '/home/op/projects/mine/.env': 'secret',
        '/home/op/.local/bin/sys': '→ /usr/bin/env',
        '/usr/bin/env': 'x',
      },
    });
    expect(found).toEqual({
      ...NOTHING,
      path: '/home/op/.local/bin',
      readOnly: [
        '/home/op/.local/bin',
        '/home/op/.local/share/pipx/venvs/black',
        '/home/op/.local/share/uv/python/cpython-3.13',
        '/home/op/.local/share/uv/tools/ruff',
        '/home/op/projects/mine/tool',
      ],
    });
  });
});

describe('the system', () => {
  test('its directories stay on PATH and are mounted anyway; what is not there is dropped', () => {
    const path = '/usr/local/bin:/bin:::.:relative/bin:/usr/bin/:/usr/bin:/missing:/usr/bin/env';
    const tree = { '/usr/bin/env': 'x', '/usr/local/bin/x': 'x', '/bin': '→ usr/bin' };
    expect(survey({ path, tree })).toEqual({ ...NOTHING, path: '/usr/local/bin:/bin:/usr/bin' });
  });
});

describe('attacks (T-19)', () => {
  const tree: Tree = {
    '/home/op/.ssh/bin/id_ed25519': 'x',
    '/home/op/.config/app/bin/x': 'x',
    '/home/op/.palyra/bin/x': 'x',
    '/home/op/work/shop/node_modules/.bin/x': 'x',
    '/home/op/run': 'x',
    '/home/op/bin': '→ .ssh/bin',
    '/home/op/all': '→ /home/op',
    '/home/op/.pyenv': '→ /home/op',
    '/home/op/tools/bin/key': '→ /home/op/.ssh/bin/id_ed25519',
    '/home/op/tools/bin/home': '→ /home/op',
    '/home/op/tools/bin/papers': '→ /home/op/Documents',
    '/home/op/team/bin/x': 'x',
    '/home/op/own/bin/x': 'x',
    '/home/op/Documents/tax.pdf': 'x',
    '/home/op/Documents/letters/a': 'x',
    '/home/bob/bin/x': 'x',
    '/tmp/bin/x': 'x',
    '/tmp/own/bin/x': 'x',
    '/etc/tools/bin/x': 'x',
    '/opt/x': 'x',
    '/usr/open/x': 'x',
  };
  const modes: Modes = {
    '/tmp': { mode: 0o1777 },
    '/tmp/bin': { mode: 0o777 },
    '/home/bob': { uid: 1001 },
    '/home/bob/bin': { uid: 1001 },
    '/usr/open': { mode: 0o757 },
    '/home/op/team/bin': { gid: 500, mode: 0o775 },
    '/home/op/own/bin': { mode: 0o775 },
    '/home/op/Documents/tax.pdf': { mode: 0o644 },
  };

  test.each([
    ['/', 'It holds credentials.'],
    ['/home', 'It holds credentials.'],
    ['/home/op', 'It holds credentials.'],
    ['/home/op/', 'It holds credentials.'],
    ['/home/op/all', 'It holds credentials.'],
    ['/home/op/work/..', 'It holds credentials.'],
    ['/home/op/.pyenv', 'It holds credentials.'],
    ['/home/op/.ssh', 'It lies where credentials are kept.'],
    ['/home/op/bin', 'It lies where credentials are kept.'],
    ['/home/op/.config/app/bin', 'It lies where credentials are kept.'],
    ['/home/op/.palyra/bin', 'It lies where credentials are kept.'],
    ['/home/op/work', 'It holds the home directory or the workspace.'],
    ['/home/op/work/shop/node_modules/.bin', 'It lies in the workspace.'],
    ['/home/bob/bin', 'Others can write there.'],
    ['/tmp/bin', 'Others can write there.'],
    ['/usr/open', 'Others can write there.'],
    ['/home/op/team/bin', 'Others can write there.'],
    ['/etc/tools/bin', 'It belongs to the host.'],
    ['/opt', 'It is too wide.'],
    ['/home/op/Documents', 'It is no directory of programs.'],
  ])('%s is left out', (path, reason) => {
    const entry = path === '/home/op/' ? HOME : path === '/home/op/work/..' ? HOME : path;
    expect(survey({ tree, modes, path })).toEqual({ ...NOTHING, remarks: [{ entry, reason }] });
  });

  test('a group of the operator alone may write', () => {
    expect(survey({ tree, modes, path: '/home/op/own/bin' }).readOnly).toEqual(['/home/op/own/bin']);
  });

  test('a toolchain that holds what must not be seen is only its programs', () => {
    const pyenv = { '/home/op/.pyenv/shims/python': 'x', '/home/op/.pyenv/state/key': 'x' };
    const path = '/home/op/.pyenv/shims';
    expect(survey({ tree: pyenv, path, palyraHome: '/home/op/.pyenv/state' }).readOnly).toEqual([path]);
    expect(survey({ tree: pyenv, path, workspace: '/home/op/.pyenv/state' }).readOnly).toEqual([path]);
    const cargo = { '/home/op/.cargo/bin/cargo': 'x', '/home/op/.rustup': '→ /home/op' };
    expect(survey({ tree: cargo, path: '/home/op/.cargo/bin' }).readOnly).toEqual(['/home/op/.cargo/bin']);
  });

  test('links to keys, to the home and to other directories lead nowhere', () => {
    const path = '/home/op/tools/bin';
    expect(survey({ tree, modes, path })).toEqual({ ...NOTHING, path, readOnly: [path] });
  });

  test('a directory of one’s own in /tmp is safe behind the sticky bit', () => {
    expect(survey({ tree, modes, path: '/tmp/own/bin' }).readOnly).toEqual(['/tmp/own/bin']);
  });

  test('a home that is a link hides its secrets under either name', () => {
    const linked = { '/home/op': '→ /data/op', '/data/op/.ssh/bin/x': 'x', '/data/op/bin/x': 'x' };
    const found = survey({ tree: linked, path: '/data/op/.ssh/bin:/home/op/.ssh/bin:/data/op:/home/op/bin' });
    expect(found.readOnly).toEqual(['/data/op/bin']);
    expect(found.remarks).toHaveLength(3);
  });
});

test('property: nothing that is shown is, holds or lies in a secret, the home or the workspace', () => {
  const names = [
    '.ssh',
    '.config',
    '.cargo',
    '.pyenv',
    '.palyra',
    'bin',
    'work',
    'shop',
    '.local',
    'share',
    'mise',
    'a',
  ];
  const below = fc.array(fc.constantFrom(...names), { maxLength: 4 }).map((parts) => join(HOME, ...parts));
  const places = fc.oneof(below, fc.constantFrom('/', '/home', '/opt', '/opt/a', '/usr/bin', '/etc', '/nix/store/a'));
  const node = fc.oneof(
    fc.constant('x'),
    fc.constant('/'),
    places.map((target) => `→ ${target}`),
  );
  const trees = fc.uniqueArray(fc.tuple(places, fc.constantFrom('bin', 'a', 'x', 'shims'), node), { maxLength: 14 });
  fc.assert(
    fc.property(trees, fc.array(places, { maxLength: 6 }), (parts, path) => {
      const tree = Object.fromEntries(parts.map(([place, name, what]) => [join(place, name), what]));
      const files = fakeFiles(tree);
      const extra = parts.map(([place, name]) => join(place, name));
      const found = survey({ tree, path: [...path, ...extra].join(':') });
      const secrets = ['.palyra', ...CREDENTIAL_PATHS].map((name) => join(HOME, name));
      for (const root of found.readOnly) {
        expect(files.realPath(root)).toBe(root);
        for (const kept of [HOME, join(HOME, 'work/shop')]) expect(isIn(kept, root)).toBe(false);
        for (const secret of secrets.flatMap((each) => [each, files.realPath(each) ?? each])) {
          expect({ root, secret, shown: isIn(secret, root) || isIn(root, secret) }).toEqual({
            root,
            secret,
            shown: false,
          });
        }
      }
      for (const masked of found.masked) expect(found.readOnly.some((root) => isIn(masked, root))).toBe(true);
      expect(found.path.split(':')).not.toContain(HOME);
    }),
    { numRuns: 200 },
  );
});

function isIn(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(ancestor === '/' ? '/' : `${ancestor}/`);
}
