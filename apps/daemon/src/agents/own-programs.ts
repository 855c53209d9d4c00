import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programRoot } from '@palyra/gateway';
import { findHook } from '@palyra/sandbox';
import type { CollectPlaces } from './collect-command.ts';

/** Palyra's own programs, as somebody in a box finds them. */
export interface OwnPrograms {
  /** `palyra` itself. */
  readonly palyra: string;
  /** What they are read from: nothing of a home, and nothing that anybody in a box can write. */
  readonly shown: readonly string[];
}

/** From apps/daemon/src/agents in a checkout, and from node_modules/@palyra/daemon/dist/agents of the release. */
const PLACES = ['../../../cli/bin/palyra.mjs', '../../../../../bin/palyra.mjs'];

/** Of a checkout these alone: the rest of it may be anybody's work. */
const PARTS = ['apps', 'packages', 'node_modules', '.cache/bundled'];

/** Undefined where `palyra` is not beside palyrad. */
export function ownPrograms(): OwnPrograms | undefined {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const palyra = PLACES.map((place) => resolve(here, place)).find((place) => existsSync(place));
  if (palyra === undefined) return undefined;
  const node = realpathSync(process.execPath);
  const root = programRoot(palyra);
  const checkout = resolve(here, '../../../..');
  const own = root === palyra ? PARTS.map((part) => join(checkout, part)).filter((part) => existsSync(part)) : [root];
  return {
    palyra,
    shown: [...new Set([...own, ...(isSystems(node) ? [] : [programRoot(node)])])].filter(unlessInside),
  };
}

/**
 * How an agent's shell starts a `palyra`: ours on the Node that this process has, for its first line would look for one on the
 * PATH, which may be an old one, and that one would start ours; and with ours the hook that is beside it. Somebody else's as it is.
 */
export function startOf(palyra: string): Pick<CollectPlaces, 'start' | 'collector'> {
  ours ??= { palyra: ownPrograms()?.palyra, collector: findHook() };
  if (palyra !== ours.palyra) return { start: [palyra] };
  const conditions = process.execArgv.filter((flag) => flag.startsWith('--conditions='));
  return { start: [process.execPath, ...conditions, palyra], collector: ours.collector };
}

/** Looked for once: a process does not move. */
let ours: { readonly palyra: string | undefined; readonly collector: string | undefined } | undefined;

/** In every box. */
function isSystems(path: string): boolean {
  return path.startsWith('/usr/') || path.startsWith('/bin/');
}

function unlessInside(path: string, _at: number, all: readonly string[]): boolean {
  return !all.some((other) => other !== path && path.startsWith(`${other}/`));
}

/**
 * The program of an agent, where it really is, with the packages that it was installed with. Nothing for what every box
 * shows, or what is looked up on the tool's own PATH.
 */
export function programsOf(program: string): readonly string[] {
  if (!program.startsWith('/')) return [];
  try {
    const real = realpathSync(program);
    return isSystems(real) ? [] : [programRoot(real)];
  } catch {
    return [];
  }
}
