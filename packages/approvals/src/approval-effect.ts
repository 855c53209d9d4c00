import { canonicalJson, inspectHost, type Sha256Hex } from '@palyra/primitives';
import { ApprovalError } from './approval-error.ts';
import { createPage, type Page, showWord } from './prompt/page.ts';

/**
 * What a call does outside its box, as the sandbox plan has it. A grant covers effects, never commands: there is no
 * effect that stands for the beginning of a command line.
 */
export type Effect =
  /** A connection, perhaps with a secret that is put into it. */
  | { readonly kind: 'host'; readonly host: string; readonly port: number; readonly secret: string | null }
  /** A directory or file and everything below it. */
  | { readonly kind: 'path'; readonly path: string; readonly mode: 'read' | 'write' }
  /** A tool of another MCP server, for as long as its definition has this digest. */
  | { readonly kind: 'upstream'; readonly server: string; readonly tool: string; readonly definition: Sha256Hex }
  /** This very command outside the box, in this directory; approved once each time. */
  | { readonly kind: 'argv'; readonly argv: readonly string[]; readonly cwd: string }
  /** Anything that is approved once each time, such as a change to a protected file. */
  | { readonly kind: 'once'; readonly what: string };

/** Throws `approvals.invalid_effect` unless every name has its one spelling. */
export function checkEffects(effects: readonly Effect[]): void {
  for (const effect of effects) if (!isCanonical(effect)) throw notCanonical(effect);
}

/** For effects that were read from a row. */
export function areCanonical(effects: readonly Effect[]): boolean {
  return effects.every(isCanonical);
}

/** A yes for these may reach beyond the one call. */
export function areGrantable(effects: readonly Effect[]): boolean {
  return effects.length > 0 && effects.every(isGrantable);
}

/** Whether all that is needed is among what was granted. Needing nothing is no reason to be covered. */
export function covers(granted: readonly Effect[], needed: readonly Effect[]): boolean {
  return areGrantable(needed) && needed.every(coverOf(granted));
}

/** For asking of many effects one by one whether they are among what was granted. */
export function coverOf(granted: readonly Effect[]): (needed: Effect) => boolean {
  // SECURITY: T-39 — a call has as many effects as an agent likes: each is spelled once and looked up.
  const alike = new Set(granted.map(spelling));
  const paths = granted.filter((each) => each.kind === 'path');
  return (needed) => {
    if (!isGrantable(needed)) return false;
    return needed.kind === 'path' ? paths.some((each) => isBelow(needed, each)) : alike.has(spelling(needed));
  };
}

/** For people. Everything in it is made visible, and names are quoted. */
export function effectInWords(effect: Effect): string {
  return writeEffect(effect, createPage());
}

/** What has no room is counted by the page. */
export function writeEffect(effect: Effect, page: Page): string {
  switch (effect.kind) {
    case 'host': {
      const to = `connections to ${page.text(inspectHost(effect.host).shown)} port ${effect.port}`;
      return effect.secret === null ? to : `${to} with the secret ${page.name(effect.secret)}`;
    }
    case 'path':
      return `${effect.mode === 'write' ? 'writing' : 'reading'} ${page.name(effect.path)} and everything below it`;
    case 'upstream':
      return `the tool ${page.name(effect.tool)} of ${page.name(effect.server)} at definition ${effect.definition}`;
    case 'argv':
      return `exactly the command ${page.command(effect.argv)} in ${page.name(effect.cwd)}, outside the box`;
    case 'once':
      return page.text(effect.what);
  }
}

/** The words of a command, one quoted text each, so that nobody takes two for one. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => showWord(word, Number.MAX_SAFE_INTEGER).text).join(' ');
}

function isGrantable({ kind }: Effect): boolean {
  // SECURITY: T-03 — the words of a command name no bytes: the same words may run another program, or a shell that runs
  // many. So a command outside the box is approved with all that its subject binds, each time it runs.
  return kind !== 'once' && kind !== 'argv';
}

/** SECURITY: T-03 — all of it alike: the same port, the same secret or none, the same definition. */
function spelling(effect: Effect): string {
  return canonicalJson({ ...effect });
}

type PathEffect = Extract<Effect, { readonly kind: 'path' }>;

function isBelow(needed: PathEffect, granted: PathEffect): boolean {
  if (granted.mode !== needed.mode) return false;
  const below = granted.path === '/' ? '/' : `${granted.path}/`;
  return needed.path === granted.path || needed.path.startsWith(below);
}

function isCanonical(effect: Effect): boolean {
  switch (effect.kind) {
    case 'host':
      return inspectHost(effect.host).ascii === effect.host && isPort(effect.port) && effect.secret !== '';
    case 'path':
      return isCanonicalPath(effect.path) && (effect.mode === 'read' || effect.mode === 'write');
    case 'upstream':
      return effect.server !== '' && effect.tool !== '' && /^[0-9a-f]{64}$/.test(effect.definition);
    case 'argv':
      return effect.argv.length > 0 && effect.argv.every(isText) && isCanonicalPath(effect.cwd);
    case 'once':
      return isText(effect.what) && effect.what !== '';
  }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

function isText(text: unknown): text is string {
  return typeof text === 'string' && text.isWellFormed();
}

/** Absolute, without empty steps, dots and NUL: what is below it is what begins with it. */
function isCanonicalPath(path: string): boolean {
  if (path === '/') return true;
  if (!isText(path) || !path.startsWith('/') || path.includes('\0')) return false;
  return path
    .slice(1)
    .split('/')
    .every((step) => step !== '' && step !== '.' && step !== '..');
}

function notCanonical({ kind }: Effect): ApprovalError {
  return new ApprovalError('approvals.invalid_effect', `An effect of kind ${kind} has a name that is not canonical.`, {
    fix: 'Give hosts in ASCII and lower case, absolute paths without dots, digests in lower-case hexadecimal.',
  });
}
