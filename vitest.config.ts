import { defineConfig } from 'vitest/config';

const conditions = ['palyra-source'];

/** Each suite is one project; `npm run check` runs the first two, `npm test` all of them. */
function suite(name: string, include: readonly string[], timeout: number) {
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      name,
      include: [...include],
      environment: 'node',
      pool: 'forks',
      execArgv: ['--conditions=palyra-source'],
      testTimeout: timeout,
      hookTimeout: timeout,
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      suite(
        'unit',
        ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
        10_000,
      ),
      suite('architecture', ['tests/architecture/**/*.test.ts'], 30_000),
      suite('integration', ['tests/integration/**/*.test.ts'], 60_000),
      suite('attack', ['tests/attack/**/*.test.ts'], 60_000),
      suite('e2e', ['tests/e2e/**/*.test.ts'], 300_000),
    ],
  },
});
