import { configDefaults, defineConfig } from 'vitest/config';
import { SOAK_FACTOR, SOAK_VARIABLE, SUITES, type Suite } from './tools/suites.ts';
import { LongFirst } from './tools/tests/long-first.ts';

const conditions = ['palyra-source'];
const patience = process.env[SOAK_VARIABLE] === '1' ? SOAK_FACTOR : 1;

function project({ name, include, exclude = [], timeoutMs, globalSetup, setupFiles = [] }: Suite) {
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      name,
      include: [...include],
      exclude: [...configDefaults.exclude, ...exclude],
      environment: 'node',
      pool: 'forks',
      // Node runs our sources as they are, and keeps what it compiled: Vite's own loader took a second more for each file.
      // Nothing is mocked here, which is all that the loader's hooks are for.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      // Loading the sources anew for every file takes longer than most tests, which share no state.
      isolate: false,
      execArgv: ['--conditions=palyra-source'],
      testTimeout: timeoutMs * patience,
      hookTimeout: timeoutMs * patience,
      // What is waited for comes when it comes; a second, as vitest has it, is a guess at how busy the machine is.
      expect: { poll: { timeout: timeoutMs / 2 } },
      setupFiles: [...setupFiles],
      ...(globalSetup === undefined ? {} : { globalSetup: [...globalSetup] }),
      // A forgotten `.only` would hide the others.
      allowOnly: false,
    },
  };
}

export default defineConfig({
  test: {
    projects: SUITES.map(project),
    // Many tests wait for processes, so two cores take a third file; vitest alone would leave one of them idle.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
  },
});
