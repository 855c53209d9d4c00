#!/usr/bin/env node
// Plain JavaScript for Node 18 and up: `.bin/palyra`, npx and `npm i -g` start it on the host's Node, and it goes on
// with the pinned one.
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileCache } from './compile-cache.mjs';
import { become, findNode, isNewEnough, OLDEST_NODE } from './pinned-node.mjs';

const SOURCE = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const RELEASE = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const COMPILED = fileURLToPath(new URL('../../../.cache/compiled', import.meta.url));
const CANNOT_RUN_HERE = 5;

// A release has no sources; type stripping would refuse them below node_modules anyway.
const entry = existsSync(SOURCE) ? ['--conditions=palyra-source', SOURCE] : [RELEASE];

// NODE_OPTIONS and NODE_PATH are not handed on. They may not fit Node 24, and `--inspect` or `--require` would reach
// into the daemon started from here. This is no wall: the Node that runs this line has already obeyed them, and whoever
// can set our environment is us. It keeps a setting meant for another program out of the one that asks for approvals.
// NODE_EXTRA_CA_CERTS stays, though it slows the start of Node 20: behind a company's proxy nothing works without it.
const { NODE_OPTIONS, NODE_PATH, ...env } = process.env;
const isClean = NODE_OPTIONS === undefined && NODE_PATH === undefined;
// SECURITY: T-40 — or Node opens a debugger to whoever connects, in a process that may hold the operator's unlocked key.
const NO_DEBUGGER = '--disable-sigusr1';
process.on('SIGUSR1', () => undefined);
const isAsStarted = process.execArgv.filter((flag) => flag !== NO_DEBUGGER).join(' ') === entry.slice(0, -1).join(' ');
const cache = entry.length === 1 ? undefined : compileCache(COMPILED);

if (isClean && isAsStarted && isNewEnough(process.versions.node)) {
  await goOnHere(entry.at(-1) ?? RELEASE);
} else {
  const node = findNode(import.meta.url);
  const args = [NO_DEBUGGER, ...entry, ...process.argv.slice(2)];
  if (node === undefined) refuse();
  else become(node.path, args, cache === undefined ? env : { NODE_COMPILE_CACHE: cache, ...env });
}

/**
 * On the right Node already, as palyrad has agents start it: another start would take longer than what it is for.
 * @param {string} main
 */
async function goOnHere(main) {
  if (cache !== undefined) {
    nodeModule.enableCompileCache(cache);
    // For what is started from here.
    process.env['NODE_COMPILE_CACHE'] ??= cache;
  }
  process.argv[1] = main;
  await import(pathToFileURL(main).href);
}

function refuse() {
  const oldest = OLDEST_NODE.join('.');
  const message = `Palyra needs Node ${oldest} or newer; this is ${process.versions.node}, and the one it ships for ${process.platform} ${process.arch} is missing or does not run`;
  const fix = `install again without --omit=optional, or put Node ${oldest} or newer in PATH.`;
  const asJson = process.argv.includes('--json');
  const json = JSON.stringify({ error: { code: 'cli.node_too_old', message, fix } });
  process.stderr.write(asJson ? `${json}\n` : `error[cli.node_too_old]: ${message}\nfix: ${fix}\n`);
  process.exitCode = CANNOT_RUN_HERE;
}
