import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import {
  boxedPrograms,
  readWorkerSources,
  strippedDirectory,
  strippedName,
} from '../../packages/gateway/src/file-tools/stripped-worker.ts';

for (const program of boxedPrograms()) strip(program);

/** A boxed program in JavaScript, which starts four times as fast as from its sources. */
function strip(program: string): void {
  const stripped = strippedDirectory(program);
  const directory = dirname(stripped);
  if (existsSync(directory)) return;
  const kind = basename(stripped);
  const build = dirname(directory);
  mkdirSync(build, { recursive: true });
  const unfinished = mkdtempSync(join(build, 'unfinished-'));
  const worker = join(unfinished, kind);
  mkdirSync(worker);
  for (const [name, text] of readWorkerSources(program)) {
    const javascript = stripTypeScriptTypes(text).replaceAll(/(from '\.\/[a-z-]+)\.ts'/g, "$1.js'");
    writeFileSync(join(worker, strippedName(name)), javascript);
  }
  for (const name of readdirSync(build)) {
    if (name.startsWith(`${kind}-`)) rmSync(join(build, name), { recursive: true, force: true });
  }
  // At once: nobody starts half of it.
  renameSync(unfinished, directory);
}
