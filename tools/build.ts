import { existsSync, globSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runOnNode } from './checks/run-command.ts';
import { pack } from './release/pack.ts';
import { stage } from './release/stage.ts';
import { buildStandaloneVerifier } from './release/standalone-verifier.ts';

const ROOT = process.cwd();
const BUILD = join(ROOT, 'build');

// From nothing: what a deleted source once compiled to must not be released.
for (const folder of globSync('{packages,apps}/*/dist')) rmSync(folder, { recursive: true });
rmSync(BUILD, { recursive: true, force: true });

const compiled = await runOnNode({
  argv: ['node_modules/typescript/bin/tsc', '-b', '--checkers', '1', ...globSync('apps/*/')],
  show: 'captured',
});
if (compiled.exitCode !== 0 || !existsSync('apps/cli/dist/main.js')) {
  console.error(compiled.output.trimEnd());
  console.error('error[build.does_not_compile]: the release was not made\nfix: the output above is from `tsc -b`.');
  process.exit(1);
}

const target = join(BUILD, 'palyra');
const { version, packages } = stage(ROOT, target);
await buildStandaloneVerifier(ROOT, join(target, 'verify'));
const tarball = pack(target, BUILD);
console.log(`built  palyra ${version} with ${packages.join(', ')}`);
console.log(`${tarball}  ${(statSync(tarball).size / 1024).toFixed(0)} KiB`);
