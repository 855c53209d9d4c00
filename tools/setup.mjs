// Everything a fresh clone needs. Plain JavaScript for Node 18 and up: it runs before anything is installed.
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agents } from './setup/agents-step.mjs';
import { bundledPrograms } from './setup/bundled-programs-step.mjs';
import { compiledSources } from './setup/compiled-sources-step.mjs';
import { throwFileFault } from './setup/file-fault.mjs';
import { launcher } from './setup/launcher-step.mjs';
import { withLock } from './setup/lock.mjs';
import { npmDependencies } from './setup/npm-dependencies.mjs';
import { queryBuilder } from './setup/query-builder-step.mjs';
import { createReport } from './setup/report.mjs';
import { SetupError } from './setup/setup-error.mjs';
import { systemPackages } from './setup/system-packages-step.mjs';
import { ALL_GROUPS } from './system-packages.mjs';

/**
 * @typedef {import('./system-packages.mjs').SystemGroup} SystemGroup
 * @typedef {import('./setup/report.mjs').Report} Report
 * @typedef {{ root: string, groups: SystemGroup[], log: string }} ProbeContext
 * @typedef {ProbeContext & { onChild: (pid: number) => void }} WorkContext tell `onChild` of every command that is started
 * @typedef {{ kind: 'ready', detail: string } | { kind: 'work', why: string }} Probe
 *
 * @typedef {object} Step
 * @property {string} name
 * @property {(context: ProbeContext) => Promise<Probe>} probe fast, changes nothing, needs no network; throws `SetupError` when this user may not do the work
 * @property {(context: WorkContext) => Promise<string>} work returns what was done; throws `SetupError`
 */

/** In this order. A new part of the set-up is one more step. */
const STEPS = [npmDependencies, systemPackages, launcher, queryBuilder, bundledPrograms, compiledSources, agents];

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Brings the checkout into working order, or throws `SetupError`. Does nothing when there is nothing to do.
 * @param {{ groups: SystemGroup[], report: Report }} options
 */
export async function setUp({ groups, report }) {
  try {
    for (const step of STEPS) await take(step, { groups, report });
  } catch (error) {
    throwFileFault(error, ROOT);
  }
}

/**
 * @param {Step} step
 * @param {{ groups: SystemGroup[], report: Report }} options
 */
async function take(step, { groups, report }) {
  const { name } = step;
  const context = { root: ROOT, groups, log: join(ROOT, '.cache/setup', `${name.replaceAll(' ', '-')}.log`) };
  const started = performance.now();
  /** @param {'ready' | 'done'} status @param {string} detail */
  const tell = (status, detail) => report.step({ name, status, detail, ms: performance.now() - started });

  const probed = await step.probe(context);
  if (probed.kind === 'ready') return tell('ready', probed.detail);

  const lock = { path: join(ROOT, '.cache/setup/lock'), onWait: report.waiting };
  return withLock(lock, async (onChild) => {
    // Another set-up may have done it while we waited.
    const again = await step.probe(context);
    if (again.kind === 'ready') return tell('ready', again.detail);
    report.begin(name, again.why);
    return tell('done', await step.work({ ...context, onChild }));
  });
}

/** @param {string[]} args */
function groupsFrom(args) {
  let groups = ALL_GROUPS;
  for (const arg of args) {
    const named = /^--groups=(.*)$/.exec(arg)?.[1];
    if (named !== undefined) groups = named.split(',').map(groupNamed);
    else if (arg !== '--json') throw badUsage(`unknown option ${arg}`);
  }
  return groups;
}

/** @param {string} name */
function groupNamed(name) {
  const group = ALL_GROUPS.find((known) => known === name);
  if (group === undefined) throw badUsage(`unknown group ${name}`);
  return group;
}

/** @param {string} message */
function badUsage(message) {
  return new SetupError({
    code: 'setup.bad_usage',
    message,
    fix: `usage: node tools/setup.mjs [--json] [--groups=${ALL_GROUPS.join(',')}]`,
  });
}

async function main() {
  const args = process.argv.slice(2);
  const report = createReport({ json: args.includes('--json'), out: process.stdout, quiet: false });
  try {
    await setUp({ groups: groupsFrom(args), report });
    report.end();
  } catch (error) {
    process.exitCode = report.fail(error);
  }
}

const startedAs = process.argv[1];
if (startedAs !== undefined && realpathSync(startedAs) === fileURLToPath(import.meta.url)) await main();
