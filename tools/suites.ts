/** One suite is one vitest project and one line of the count that `npm test` closes with. */
export interface Suite {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly timeoutMs: number;
  /** `check` is for every save, `test` for every push. */
  readonly runsIn: 'check' | 'test';
  /** What is done or started once before the suite, and stopped after it. */
  readonly globalSetup?: readonly string[];
  /** Loaded before each file of tests. */
  readonly setupFiles?: readonly string[];
}

/** A signal that a test sends by mistake reaches nobody else. */
const NO_WIDE_SIGNALS = 'packages/testkit/src/refuse-wide-signals.ts';

/** Fails a test that leaves processes or temporary files behind. */
const REAPER = [NO_WIDE_SIGNALS, 'packages/testkit/src/reap-each-test.ts'];

/** A hundred tests and more start one. */
const STRIPPED_WORKER = 'tools/tests/strip-file-worker.ts';

/** Searches, properties and texts of millions of characters: a third of the time of all unit tests, too much for every save. */
const LONG_UNITS = [
  'packages/config/src/parse-config.test.ts',
  'packages/gateway/src/file-tools/worker/apply-hunks.test.ts',
  'packages/gateway/src/redact/create-redactor.test.ts',
  'packages/journal/src/bodies/prepare-body.test.ts',
  'packages/journal/src/read-log.test.ts',
  'packages/policy/src/always-here.test.ts',
  'packages/policy/src/compile-policy-set.test.ts',
  'packages/policy/src/diff.test.ts',
  'packages/policy/src/evaluator.soak.test.ts',
  'packages/policy/src/policy-reference.test.ts',
  'packages/policy/src/presets.test.ts',
  'packages/primitives/src/logger.test.ts',
  'packages/primitives/src/visible-text.test.ts',
  'packages/sandbox/src/backends/bubblewrap/probe.test.ts',
  'packages/sandbox/src/backends/seatbelt/plan.test.ts',
  'packages/sandbox/src/protect/watched-trees.test.ts',
  'tools/conformance/merkle.test.ts',
];

export const SUITES: readonly Suite[] = [
  {
    name: 'unit',
    include: [
      'packages/!(testkit)/src/**/*.test.ts',
      'apps/*/src/**/*.test.ts',
      'tools/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    exclude: LONG_UNITS,
    // Properties take a second or two each, and on a machine that does something else as well a multiple of that.
    timeoutMs: 30_000,
    runsIn: 'check',
    setupFiles: [NO_WIDE_SIGNALS],
  },
  { name: 'unit-long', include: LONG_UNITS, timeoutMs: 60_000, runsIn: 'test', setupFiles: [NO_WIDE_SIGNALS] },
  { name: 'architecture', include: ['tests/architecture/**/*.test.ts'], timeoutMs: 30_000, runsIn: 'check' },
  {
    name: 'integration',
    // The testkit's own tests start real servers and processes, which is too slow for every save.
    include: ['tests/integration/**/*.test.ts', 'packages/testkit/src/**/*.test.ts'],
    // The longest takes ten seconds of a CPU that it has for itself; three share two, and those of CI are slower.
    timeoutMs: 120_000,
    runsIn: 'test',
    globalSetup: ['packages/testkit/src/postgres-global-setup.ts', STRIPPED_WORKER],
    setupFiles: REAPER,
  },
  {
    name: 'attack',
    include: ['tests/attack/**/*.test.ts'],
    timeoutMs: 120_000,
    runsIn: 'test',
    globalSetup: [STRIPPED_WORKER],
    setupFiles: REAPER,
  },
  { name: 'e2e', include: ['tests/e2e/**/*.test.ts'], timeoutMs: 300_000, runsIn: 'test', setupFiles: REAPER },
];

/** Tests in `*.soak.test.ts` run at a tenth of their size, and whole when this is set to 1 (`npm run soak`). */
export const SOAK_VARIABLE = 'PALYRA_SOAK';

/** How much longer a whole soak may take. */
export const SOAK_FACTOR = 10;
