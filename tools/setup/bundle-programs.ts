// Run by the set-up on the pinned Node: node --conditions=palyra-source tools/setup/bundle-programs.ts [--check]
import { openBundle } from '../../packages/primitives/src/bundled-program.ts';
import { makeBundle, makerOf } from './make-bundle.ts';

const ROOT = process.cwd();
const NOT_CURRENT = 3;

if (process.argv.includes('--check')) {
  process.exitCode = openBundle(ROOT)?.manifest.maker === makerOf(ROOT) ? 0 : NOT_CURRENT;
} else {
  const { files, modules, bytes } = await makeBundle(ROOT);
  console.log(`${modules} modules, ${files} files, ${(bytes / 1024).toFixed(0)} KiB`);
  // What is changed while it is bundled is bundled next time.
  if (openBundle(ROOT) === undefined) process.exitCode = NOT_CURRENT;
}
