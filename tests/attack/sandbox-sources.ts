import { chmodSync, cpSync, linkSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
// By itself: what else is in testkit is for tests, and this is none.
import { createRunDirectory } from '../../packages/testkit/src/run-directory.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Root's, for everybody to read: `checkout`, and `compiled` once Node has compiled it. Undefined where we are not root. */
    sandboxSources: string | undefined;
  }
}

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

/** Vitest `globalSetup`: one copy for the whole run. Here, because a worker of vitest is ended before it could clean up. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.geteuid?.() !== 0) {
    project.provide('sandboxSources', undefined);
    return async () => undefined;
  }
  const directory = await createRunDirectory('attack-sources');
  chmodSync(directory.path, 0o755);
  copySandbox(join(directory.path, 'checkout'));
  project.provide('sandboxSources', directory.path);
  return () => directory.remove();
}

/** The checkout may lie where only root can enter. Of everything that is in it a sandbox needs little. */
function copySandbox(target: string): void {
  const copy = (path: string) => {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(CHECKOUT, path), join(target, path), {
      recursive: true,
      filter: (source) => !/\.(?:test\.ts|map|md)$/.test(source),
    });
  };
  copy('package.json');
  copy('tests/attack/programs');
  for (const name of ['primitives', 'sandbox']) {
    copy(`packages/${name}/package.json`);
    copy(`packages/${name}/src`);
    mkdirSync(join(target, 'node_modules/@palyra'), { recursive: true });
    symlinkSync(join(target, 'packages', name), join(target, 'node_modules/@palyra', name));
  }
  copy('packages/sandbox/native/build');
  for (const name of modulesFor(['pino', 'ulid'])) copy(`node_modules/${name}`);
  try {
    linkSync(process.execPath, join(target, 'node'));
  } catch {
    cpSync(process.execPath, join(target, 'node'));
  }
}

function modulesFor(names: readonly string[], found: Set<string> = new Set()): ReadonlySet<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(CHECKOUT, 'node_modules', name, 'package.json'), 'utf8'),
    );
    modulesFor(Object.keys(dependencies), found);
  }
  return found;
}
