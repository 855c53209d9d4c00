import { HIDDEN_EVERYWHERE, HIDDEN_IN_HOME } from './mac-paths.ts';
import { everything, type Filter, fixed, given, type Parameter, rule, written } from './sbpl.ts';
import { closingRules, READ, systemRules } from './system-rules.ts';

/** What one command may reach. Every path as the kernel names it, and none of them twice. */
export interface Reach {
  readonly operatorHome: string;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  /** May be read where they lie, and not changed. */
  readonly kept: readonly string[];
  /** Directories that must keep their names. */
  readonly pinned: readonly string[];
  /** The terminal's device. */
  readonly terminal: string | undefined;
  readonly unixSockets: 'allowed' | 'refused';
}

export interface Policy {
  /** Printable ASCII, and the same for every path. */
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** The profile in the order that it is read in: of the rules that match, the last one counts. */
export function writePolicy(reach: Reach): Policy {
  const home = { name: 'OPERATOR_HOME', value: reach.operatorHome };
  const readable = numbered('READABLE', reach.readable);
  const writable = numbered('WRITABLE', reach.writable);
  const hidden = numbered('HIDDEN', reach.hidden);
  const kept = numbered('KEPT', reach.kept);
  const pinned = numbered('PINNED', reach.pinned);
  const terminal = numbered('TERMINAL', reach.terminal === undefined ? [] : [reach.terminal]);
  const text = [
    '(version 1)\n',
    everything('deny', ['default']),
    systemRules(),
    terminalRules(terminal),
    '; The operator\n',
    // SECURITY: T-19 — before what the command was given, for that may lie in it; after it nothing else is opened.
    rule('deny', EVERY_USE, [given('subpath', home)]),
    ownRules(readable, writable),
    reach.unixSockets === 'allowed' ? socketRules(writable) : everything('deny', ['network*']),
    hiddenRules(home, hidden),
    keptRules(kept, pinned),
    closingRules(),
  ].join('');
  return { text, parameters: [home, ...readable, ...writable, ...hidden, ...kept, ...pinned, ...terminal] };
}

/** Each by name: a rule for a narrow operation is not always undone by one for a wider operation. */
const EVERY_USE: readonly string[] = [
  'file*',
  'file-read*',
  'file-read-metadata',
  'file-test-existence',
  'file-write*',
  'file-link',
  'file-clone',
  'file-map-executable',
  'process-exec*',
];

function numbered(name: string, values: readonly string[]): readonly Parameter[] {
  return values.map((value, at) => ({ name: `${name}_${at}`, value }));
}

/** SECURITY: T-07 — this device by name: /dev/ttys* would be every terminal that the operator has open. */
function terminalRules(terminal: readonly Parameter[]): string {
  if (terminal.length === 0) return '';
  const devices = [fixed('literal', '/dev/tty'), ...terminal.map((each) => given('literal', each))];
  return `; Terminal\n${rule('allow', [...READ, 'file-write-data', 'file-ioctl'], devices)}`;
}

function ownRules(readable: readonly Parameter[], writable: readonly Parameter[]): string {
  const all = [...readable, ...writable];
  const below = (places: readonly Parameter[]) => places.map((place) => given('subpath', place));
  return [
    '; Given\n',
    // Resolving a path asks for each directory above it: that it is there, not what is in it.
    rule(
      'allow',
      ['file-read-metadata', 'file-test-existence'],
      all.map((place) => given('path-ancestors', place)),
    ),
    rule('allow', [...READ, 'file-map-executable', 'process-exec*'], below(all)),
    rule('allow', ['file-write*', 'file-link', 'file-clone'], below(writable)),
    // SECURITY: T-42 — no file that runs as somebody else is left behind.
    rule('deny', ['file-write-setugid'], below(writable)),
  ].join('');
}

/** SECURITY: T-19 — only sockets of its own: ssh-agent's and Docker's lie elsewhere. */
function socketRules(writable: readonly Parameter[]): string {
  const sockets = (side: 'local' | 'remote') =>
    writable.map((place) => written(`(${side} unix-socket ${given('subpath', place)})`));
  return [
    everything('deny', ['network*']),
    rule('allow', ['system-socket'], [written('(socket-domain AF_UNIX)')]),
    rule('allow', ['network-bind', 'network-inbound'], sockets('local')),
    rule('allow', ['network-outbound'], sockets('remote')),
  ].join('');
}

function hiddenRules(home: Parameter, hidden: readonly Parameter[]): string {
  const places: readonly Filter[] = [
    ...HIDDEN_EVERYWHERE.map((path) => fixed('subpath', path)),
    ...HIDDEN_IN_HOME.map((path) => given('subpath', home, `/${path}`)),
    ...hidden.map((place) => given('subpath', place)),
  ];
  return `; Hidden\n${rule('deny', EVERY_USE, places)}${rule(
    'deny',
    ['network-outbound'],
    hidden.map((place) => written(`(remote unix-socket ${given('subpath', place)})`)),
  )}`;
}

function keptRules(kept: readonly Parameter[], pinned: readonly Parameter[]): string {
  return [
    '; Kept\n',
    rule(
      'deny',
      ['file-write*', 'file-link', 'file-clone'],
      kept.map((place) => given('subpath', place)),
    ),
    // SECURITY: T-44 — rules hold for names: whoever renames or clones what a hidden file lies in gives it a new one.
    rule(
      'deny',
      ['file-write-unlink', 'file-clone'],
      pinned.map((place) => given('literal', place)),
    ),
  ].join('');
}
