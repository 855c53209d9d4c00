import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUNDLES } from '../../packages/primitives/src/bundled-program.ts';
import { copyTree } from '../../packages/testkit/src/copy-tree.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_COPIED = ['.git', '.cache', 'node_modules', 'dist', 'build', 'coverage'];

/** Made by the set-up. */
const MADE = ['packages/sandbox/native/build', 'packages/storage/build'];

/** By which a bundle knows what it was made of: with others it is made anew. */
const WITH_TIMES = { recursive: true, preserveTimestamps: true };

export interface CheckoutCopy {
  readonly path: string;
  remove(): void;
}

/**
 * A checkout of its own for a test that builds, installs or replaces files, readable by every user. `installed` has what
 * the set-up made and the dependencies too, these as hard links: never write into a file below its node_modules.
 */
export async function copyCheckout(kind: 'fresh' | 'installed'): Promise<CheckoutCopy> {
  const path = mkdtempSync('/tmp/palyra-copy-');
  await copyTree(CHECKOUT, path, { paths: ['.'], without: NOT_COPIED });
  if (kind === 'installed') {
    linkModules(join(CHECKOUT, 'node_modules'), join(path, 'node_modules'));
    for (const made of MADE) cpSync(join(CHECKOUT, made), join(path, made), WITH_TIMES);
    // Not what is in it: a copy compiles its own.
    mkdirSync(join(path, '.cache/compiled'), { recursive: true });
  }
  execFileSync('chmod', ['-R', 'a+rX', path]);
  if (kind === 'installed') copyBundle(path);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Made anew where something was edited since the last set-up. */
function copyBundle(path: string): void {
  const bundle = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['--conditions=palyra-source', 'tools/setup/bundle-programs.ts', ...args], {
      cwd: path,
    }).status;
  if (existsSync(join(CHECKOUT, BUNDLES))) execFileSync('cp', ['-a', join(CHECKOUT, BUNDLES), join(path, '.cache')]);
  if (bundle('--check') !== 0 && bundle() !== 0) throw new Error('The programs do not bundle.');
}

function linkModules(from: string, to: string): void {
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'ignore' });
  } catch {
    // Another file system.
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  }
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name.startsWith('.vite')) rmSync(join(to, entry.name), { recursive: true, force: true });
    // npm and the set-up write these in place, which would reach the original.
    else if (entry.isFile()) {
      rmSync(join(to, entry.name));
      cpSync(join(from, entry.name), join(to, entry.name), WITH_TIMES);
    }
  }
}
