import { isAbsolute, normalize } from 'node:path';
import type { SandboxCommand } from './command.ts';
import type { Limits, SandboxProfile } from './profile.ts';
import type { Refusal } from './run-result.ts';

/** The kernel takes no longer argument than this. */
const MAX_ARGUMENT = 128 * 1024 - 1;
/** As `native/request.h` has them. */
const MAX_ARGUMENTS = 4096;
const MAX_VARIABLES = 512;
const MAX_PATHS = 48;
const MAX_TEXT_BYTES = 1024 * 1024;

/** Undefined when both are well-formed and do not contradict one another. */
export function refuseMalformed(command: SandboxCommand, profile: SandboxProfile): Refusal | undefined {
  return refuseProfile(profile) ?? refuseCommand(command);
}

function refuseProfile(profile: SandboxProfile): Refusal | undefined {
  const { workspace, readOnlyPaths, writablePaths, maskedPaths, limits, environment, protection } = profile;
  const paths = [workspace.root, ...readOnlyPaths, ...writablePaths, ...maskedPaths, ...(protection?.lifted ?? [])];
  const odd = paths.find((path) => !isPlainPath(path));
  if (odd !== undefined)
    return invalidProfile('A path of the profile is not absolute and plain.', 'Write it without `..`.');
  if (paths.length > MAX_PATHS) return invalidProfile(`The profile has more than ${MAX_PATHS} paths.`);
  const shown = [...readOnlyPaths, ...writablePaths].map((path) => path.replace(/(?<=.)\/$/, ''));
  if (new Set(shown).size < shown.length) {
    return invalidProfile('A path of the profile is there twice.');
  }
  const readOnly = [workspace.root, ...readOnlyPaths].map((path) => path.replace(/(?<=.)\/$/, ''));
  if (writablePaths.some((path) => readOnly.some((other) => path.startsWith(`${other}/`)))) {
    return invalidProfile('A writable path lies in the workspace, or in one that may only be read.', WRITABLE_FIX);
  }
  const badHome = refuseHome(profile);
  if (badHome !== undefined) return badHome;
  const badLimit = (Object.keys(limits) as (keyof Limits)[]).find((name) => !isLimit(limits[name]));
  if (badLimit !== undefined) return invalidProfile(`The limit ${badLimit} is not a whole number above 0.`);
  const badName = environment.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (badName !== undefined) return invalidProfile('A name of a variable in the profile is malformed.');
  return undefined;
}

const WRITABLE_FIX =
  'Name what lies beside it: the workspace may be written as a whole, or not at all (`workspace.access`).';

/** SECURITY: T-14 — names below a home and no ways out of it; each place is of one thing. */
function refuseHome({ home, tier }: SandboxProfile): Refusal | undefined {
  if (home === undefined) return undefined;
  if (tier !== 'C') return invalidProfile('Only a box has a home of its own.');
  const theirs = [...home.writable, ...home.readOnly, ...(home.copied ?? [])];
  const ours = home.files.map(({ path }) => path);
  const places = [...theirs, ...ours];
  if (places.length > MAX_PATHS) return invalidProfile(`The profile has more than ${MAX_PATHS} paths in the home.`);
  if (places.some((path) => path === '' || !isPlainPath(`/${path}`))) {
    return invalidProfile('A path in the home is not relative and plain.', 'Write it without `..`.');
  }
  // One of ours may be in the place of one of theirs.
  if (new Set(theirs).size < theirs.length || new Set(ours).size < ours.length) {
    return invalidProfile('A path in the home is there twice.');
  }
  const settings = home.settings ?? [];
  // One level down: what lies right in /etc is the box's own.
  const odd = settings.some(({ path }) => !isPlainPath(path) || !/^\/etc\/[a-z][a-z-]*\/[^/]+$/.test(path));
  if (odd || settings.length > MAX_PATHS) return invalidProfile('Settings lie in a directory of /etc.');
  if ([...home.files, ...settings].some(({ text }) => Buffer.byteLength(text) > MAX_TEXT_BYTES)) {
    return invalidProfile('A file in the home is longer than 1 MiB.');
  }
  return undefined;
}

/**
 * SECURITY: T-20, T-22 — what is promised about the network is either enforced or refused. In Tier C somebody has to decide about
 * each connection, also about those of a tool that may make any.
 */
export function refuseEgress({ tier, egress }: SandboxProfile, wayOut: 'proxied' | 'none'): Refusal | undefined {
  if (tier === 'B') {
    if (egress.mode === 'strict') {
      return unsupported('Tier B cannot restrict the network.', 'Use Tier C, or say `egress.mode = "none"`.');
    }
    if (egress.mode === 'preflight') return notAtRunTime();
    return wayOut === 'none'
      ? undefined
      : unsupported('Tier B has the host’s network and no way out of its own.', 'Use Tier C.');
  }
  if (egress.mode === 'preflight') return notAtRunTime();
  const isOffline = egress.mode === 'strict' && egress.hosts.length === 0;
  if (isOffline || wayOut === 'proxied') return undefined;
  return unsupported(
    'Without a way out a tool of Tier C has no network at all, and the profile says otherwise.',
    'Take the hosts out of the profile, or run it where its connections are proxied.',
  );
}

function notAtRunTime(): Refusal {
  return unsupported(
    'The sandbox does not look at arguments for hosts: `preflight` is checked before it, and is `none` to it.',
    'Say `strict` in Tier C, or `none`.',
  );
}

function refuseCommand({ argv, cwd, environment = {}, terminal }: SandboxCommand): Refusal | undefined {
  const [program] = argv;
  if (program === undefined || program === '') return invalidCommand('The command is empty.');
  const variables = Object.entries(environment);
  if (argv.length > MAX_ARGUMENTS || variables.length > MAX_VARIABLES) {
    return invalidCommand(`The command has more than ${MAX_ARGUMENTS} arguments or ${MAX_VARIABLES} variables.`);
  }
  // As the kernel takes them: a variable with its name.
  const texts = [...argv, ...variables.map(([name, value]) => `${name}=${value}`)];
  if (texts.some((text) => text.includes('\0'))) return invalidCommand('The command holds a NUL.');
  const sizes = texts.map((text) => Buffer.byteLength(text));
  if (sizes.some((size) => size > MAX_ARGUMENT)) {
    return invalidCommand(
      'An argument or variable is longer than 128 KiB.',
      'Write it to a file, or send it as input.',
    );
  }
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_TEXT_BYTES) {
    return invalidCommand('The command is longer than 1 MiB.', 'Write it to a file, or send it as input.');
  }
  if (cwd !== undefined && !isPlainPath(cwd)) return invalidCommand('The working directory is not absolute and plain.');
  if (terminal !== undefined && !(isCells(terminal.rows) && isCells(terminal.columns))) {
    return invalidCommand('The terminal has an impossible size.');
  }
  if (terminal?.name !== undefined && !TERMINAL_NAME.test(terminal.name)) {
    return invalidCommand('The terminal has a malformed name.', 'Give what TERM says, such as xterm-256color.');
  }
  return undefined;
}

/** SECURITY: T-14 — programs look for a file of this name: none that leads elsewhere. */
const TERMINAL_NAME = /^[A-Za-z0-9][A-Za-z0-9+._-]{0,63}$/;

function isPlainPath(path: string): boolean {
  const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  return isAbsolute(path) && normalize(plain) === plain && !path.includes('\0') && path.length < 4096;
}

function isLimit(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function isCells(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 10_000;
}

function invalidProfile(message: string, fix?: string): Refusal {
  return { kind: 'refused', code: 'sandbox.invalid_profile', message, fix };
}

function invalidCommand(message: string, fix?: string): Refusal {
  return { kind: 'refused', code: 'sandbox.invalid_command', message, fix };
}

function unsupported(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
}
