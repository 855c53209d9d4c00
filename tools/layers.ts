/**
 * Who may import whom: the table of ARCHITECTURE.md as data, for all packages of the house, those still to be built included.
 * `tests/architecture/` holds sources and package.json files to it. A change here is a change of architecture: say why.
 */

export type PackageName =
  | Layer0
  | Leaf
  | 'gateway'
  | 'client'
  | 'daemon'
  | 'cli'
  | 'console'
  /** Fakes and contract suites; beside the layers. */
  | 'testkit';

type Layer0 = 'primitives' | 'config' | 'storage' | 'api' | 'agents';
type Leaf = 'policy' | 'approvals' | 'sandbox' | 'egress' | 'wasm' | 'skills' | 'vault' | 'identity' | 'journal';

/** A whole package, or one entry point of it: `journal/verify` is the part of journal that runs in a browser. */
export type Importable = PackageName | 'journal/verify';

export interface PackageRule {
  readonly directory: string;
  /** 0 ground, 1 leaves, 2 middle, 3 edges; testkit stands beside them. */
  readonly layer: 0 | 1 | 2 | 3 | 'beside';
  readonly mayImport: readonly Importable[];
}

const GROUND: readonly Layer0[] = ['primitives', 'config', 'storage', 'api', 'agents'];
const LEAVES: readonly Leaf[] = [
  'policy',
  'approvals',
  'sandbox',
  'egress',
  'wasm',
  'skills',
  'vault',
  'identity',
  'journal',
];

/** Leaves do not know that tool calls exist, nor one another. When two must cooperate, the daemon passes a function in. */
const LEAF_IMPORTS: readonly Importable[] = ['primitives', 'storage'];

export const LAYERS: Readonly<Record<PackageName, PackageRule>> = {
  primitives: { directory: 'packages/primitives', layer: 0, mayImport: [] },
  config: { directory: 'packages/config', layer: 0, mayImport: ['primitives'] },
  storage: { directory: 'packages/storage', layer: 0, mayImport: ['primitives'] },
  api: { directory: 'packages/api', layer: 0, mayImport: ['primitives'] },
  /** Messages and settings of other people's agents, for both edges: palyrad reads the ones, the cli writes the others. */
  agents: { directory: 'packages/agents', layer: 0, mayImport: ['primitives'] },

  policy: { directory: 'packages/policy', layer: 1, mayImport: LEAF_IMPORTS },
  approvals: { directory: 'packages/approvals', layer: 1, mayImport: LEAF_IMPORTS },
  sandbox: { directory: 'packages/sandbox', layer: 1, mayImport: LEAF_IMPORTS },
  egress: { directory: 'packages/egress', layer: 1, mayImport: LEAF_IMPORTS },
  wasm: { directory: 'packages/wasm', layer: 1, mayImport: LEAF_IMPORTS },
  skills: { directory: 'packages/skills', layer: 1, mayImport: LEAF_IMPORTS },
  vault: { directory: 'packages/vault', layer: 1, mayImport: LEAF_IMPORTS },
  identity: { directory: 'packages/identity', layer: 1, mayImport: LEAF_IMPORTS },
  journal: { directory: 'packages/journal', layer: 1, mayImport: LEAF_IMPORTS },

  /** Who is calling was settled before the gateway: it does not see identity. */
  gateway: {
    directory: 'packages/gateway',
    layer: 2,
    mayImport: ['primitives', 'storage', ...LEAVES.filter((leaf) => leaf !== 'identity')],
  },
  client: { directory: 'packages/client', layer: 2, mayImport: ['api', 'primitives'] },

  daemon: { directory: 'apps/daemon', layer: 3, mayImport: [...GROUND, ...LEAVES, 'gateway', 'client'] },
  /** Sandbox for `doctor` only: the cli starts palyrad, never a tool. */
  cli: {
    directory: 'apps/cli',
    layer: 3,
    mayImport: [
      'client',
      'api',
      'primitives',
      'config',
      'agents',
      'policy',
      'identity',
      'journal',
      'sandbox',
      'skills',
    ],
  },
  /** Runs in a browser, so only entry points that do without `node:`. */
  console: { directory: 'apps/console', layer: 3, mayImport: ['api', 'primitives', 'journal/verify'] },

  testkit: { directory: 'packages/testkit', layer: 'beside', mayImport: [...GROUND, ...LEAVES] },
};

export interface OnlyHereRule {
  /** Module specifiers; one that ends in `/*` stands for everything below it. */
  readonly modules: readonly string[];
  /** Where product sources may import them. Tests, benchmarks, tools and testkit may import anything. */
  readonly packages: readonly PackageName[];
  readonly why: string;
}

/** Modules that belong to few packages: one door each, so that a reviewer knows where to look. */
export const ONLY_HERE: readonly OnlyHereRule[] = [
  {
    modules: ['node:child_process', 'node:cluster'],
    packages: ['sandbox', 'cli'],
    why: 'only the sandbox starts tools, and the cli starts palyrad (invariant 1)',
  },
  { modules: ['node:sqlite', 'pg', 'pg/*'], packages: ['storage'], why: 'databases stand behind one interface' },
  { modules: ['@cedar-policy/*'], packages: ['policy'], why: 'Cedar stands behind one file' },
  {
    modules: ['@peculiar/*', 'reflect-metadata', '@noble/*'],
    packages: ['identity'],
    why: 'certificates and pairing are of one package, and reflect-metadata patches a global',
  },
  {
    modules: ['@connectrpc/*', '@bufbuild/*'],
    packages: ['api', 'client', 'daemon', 'cli', 'console'],
    why: 'only the edges know protobuf and Connect',
  },
  { modules: ['@napi-rs/keyring'], packages: ['vault'], why: 'secrets are kept by the vault' },
  { modules: ['pino', 'pino/*', 'ulid'], packages: ['primitives'], why: 'logs and ids have one shape' },
  { modules: ['commander', '@clack/*', 'qrcode'], packages: ['cli'], why: 'only the cli talks to a terminal' },
  { modules: ['@modelcontextprotocol/*'], packages: ['cli'], why: 'MCP over stdio is one command' },
  { modules: ['prom-client', '@opentelemetry/*'], packages: ['daemon'], why: 'the daemon passes observers in' },
  {
    modules: ['vitest', 'vitest/*', 'fast-check', '@palyra/testkit', '@palyra/testkit/*'],
    packages: [],
    why: 'test code is no part of the product',
  },
];
