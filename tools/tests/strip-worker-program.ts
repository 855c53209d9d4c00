import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import {
  readWorkerSources,
  strippedDirectory,
  strippedName,
} from '../../packages/gateway/src/file-tools/stripped-worker.ts';

strip();

/** The file worker in JavaScript, which starts four times as fast as from its sources. */
function strip(): void {
  const sources = readWorkerSources();
  const directory = dirname(strippedDirectory(sources));
  if (existsSync(directory)) return;
  const build = dirname(directory);
  mkdirSync(build, { recursive: true });
  const unfinished = mkdtempSync(join(build, 'unfinished-'));
  const worker = join(unfinished, 'worker');
  mkdirSync(worker);
  for (const [name, text] of sources) {
    const stripped = stripTypeScriptTypes(text).replaceAll(/(from '\.\/[a-z-]+)\.ts'/g, "$1.js'");
    writeFileSync(join(worker, strippedName(name)), stripped);
  }
  for (const name of readdirSync(build)) {
    if (name.startsWith('worker-')) rmSync(join(build, name), { recursive: true, force: true });
  }
  // At once: nobody starts half of it.
  renameSync(unfinished, directory);
}
