import { AppError, visibleText } from '@palyra/primitives/browser';
import { parseVkey } from '../format/signed-note.ts';
import { describeReport, type ReportInWords, reportAsJson, uncomparedCheckpoints } from './describe-report.ts';
import type { VerifyPins } from './report.ts';
import { parseVerifierCommand, VERIFIER_USAGE, type VerifierCommand } from './verifier-command.ts';
import { type TextReport, type VerifiableText, verifyText } from './verify-text.ts';
import { createWebCrypto } from './web-crypto.ts';

/**
 * The verifier as one file, for people who have nothing else of Palyra: `node palyra-verify.mjs FILE --key VKEY`, or
 * `palyraVerify(text, { key })` in a page. Its file is made of this module by `tools/release/standalone-verifier.ts`.
 */
export interface StandaloneOptions {
  /** The root key, as its verifier key. Without it, a file can only be found to agree with itself. */
  readonly key?: string | undefined;
  readonly witnesses?: readonly string[];
  /** Signed notes that are remembered from elsewhere. */
  readonly checkpoints?: readonly string[];
}

/** Throws `journal.invalid_export`, `journal.invalid_key`, `journal.invalid_note` and `journal.crypto_missing`. */
export async function palyraVerify(text: VerifiableText, options: StandaloneOptions = {}): Promise<TextReport> {
  const crypto = await createWebCrypto();
  const { key, witnesses = [], checkpoints = [] } = options;
  const pins: VerifyPins = {
    ...(key === undefined ? {} : { rootKey: parseVkey(key, crypto.sha256).publicKey }),
    witnesses: witnesses.map((witness) => parseVkey(witness, crypto.sha256)),
    checkpoints,
  };
  return withRemarks(await verifyText(text, { crypto, pins }), pins);
}

function withRemarks(found: TextReport, pins: VerifyPins): TextReport {
  if (found.report.kind === 'broken') return found;
  const remarks = [...found.report.remarks, ...uncomparedCheckpoints(found, pins)];
  return { ...found, report: { ...found.report, remarks } } as TextReport;
}

export function inWords(report: TextReport): ReportInWords {
  return describeReport(report);
}

Object.assign(globalThis, { palyraVerify: Object.assign(palyraVerify, { inWords }) });

/** Browsers have no `process`, and whoever imports this file in Node is the program, not this file. */
function isProgram(): boolean {
  const started = globalThis.process?.argv?.[1];
  if (started === undefined) return false;
  if (globalThis.process.getBuiltinModule === undefined) return refuseOldNode(started);
  const { realpathSync } = process.getBuiltinModule('fs');
  const { pathToFileURL } = process.getBuiltinModule('url');
  return pathToFileURL(realpathSync(started)).href === import.meta.url;
}

/** An old Node lets us open no file; to end without a word would look like a sound one. */
function refuseOldNode(started: string): false {
  const name = started.slice(Math.max(started.lastIndexOf('/'), started.lastIndexOf('\\')) + 1);
  if (!import.meta.url.endsWith(`/${encodeURIComponent(name)}`)) return false;
  process.stderr.write(
    'error[journal.crypto_missing]: This Node is too old for the verifier.\nfix: Use Node 20.16, 22.3 or newer.\n',
  );
  process.exitCode = UNUSABLE;
  return false;
}

/** As `palyra verify` has them. */
const SOUND = 0;
const UNUSABLE = 2;
const NOT_ESTABLISHED = 3;
const BROKEN = 7;
const NOT_FOUND = 8;

async function main(args: readonly string[]): Promise<number> {
  const command = parseVerifierCommand(args);
  if (command === 'help') {
    process.stdout.write(VERIFIER_USAGE);
    return SOUND;
  }
  if (command === undefined) {
    tell(BAD_USAGE, { json: args.includes('--json') });
    return UNUSABLE;
  }
  const { existsSync } = process.getBuiltinModule('fs');
  const missing = [command.file, ...command.checkpointFiles].find((file) => !existsSync(file));
  if (missing !== undefined) {
    const message = `${visibleText(missing)} is not there.`;
    tell({ code: 'cli.file_missing', message, fix: 'Check the path.' }, command);
    return NOT_FOUND;
  }
  try {
    return await show(await verifyFile(command), command);
  } catch (thrown) {
    tell(thrown instanceof AppError ? thrown : UNREADABLE, command);
    return UNUSABLE;
  }
}

/** Codes and form are those of `palyra verify`. */
type Fault = Pick<AppError, 'code' | 'message' | 'fix'>;

const BAD_USAGE: Fault = {
  code: 'cli.invalid_usage',
  message: 'The command line does not fit together.',
  fix: 'See node palyra-verify.mjs --help.',
};
const UNREADABLE: Fault = {
  code: 'cli.file_unreadable',
  message: 'A file cannot be read.',
  fix: 'Check the path, and that it is a file that you may read.',
};

function tell({ code, message, fix }: Fault, { json }: { readonly json: boolean }): void {
  const lines = [`error[${code}]: ${message}`, ...(fix === undefined ? [] : [`fix: ${fix}`])];
  const written = json ? JSON.stringify({ error: { code, message, fix: fix ?? null } }) : lines.join('\n');
  process.stderr.write(`${written}\n`);
}

async function verifyFile({ file, key, witnesses, checkpointFiles }: VerifierCommand): Promise<TextReport> {
  const { createReadStream, readFileSync } = process.getBuiltinModule('fs');
  const open = () => createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>;
  const checkpoints = checkpointFiles.map((path) => readFileSync(path, 'utf8'));
  return palyraVerify(open, { key, witnesses, checkpoints });
}

async function show(found: TextReport, { file, json, requireWitness }: VerifierCommand): Promise<number> {
  const { report } = found;
  const isUnwitnessed = report.kind === 'sound' && requireWitness && report.established.level !== 'witnessed';
  const { verdict, headline, facts, remarks } = describeReport(found);
  const lines = [
    isUnwitnessed ? `Not established: no pinned witness saw it. ${headline}` : headline,
    ...facts.map(([label, value]) => `  ${label.padEnd(16)} ${value}`),
    ...remarks.map((remark) => `  note: ${remark}`),
  ];
  const { sha256 } = await createWebCrypto();
  const written = json
    ? JSON.stringify(reportAsJson(found, { path: process.getBuiltinModule('path').resolve(file), sha256 }))
    : lines.join('\n');
  process.stdout.write(`${written}\n`);
  if (verdict !== 'sound') return BROKEN;
  return isUnwitnessed ? NOT_ESTABLISHED : SOUND;
}

if (isProgram()) process.exitCode = await main(process.argv.slice(2));
