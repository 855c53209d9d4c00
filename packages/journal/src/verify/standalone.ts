import { AppError } from '@palyra/primitives/browser';
import { parseVkey } from '../format/signed-note.ts';
import { describeReport, type ReportInWords } from './describe-report.ts';
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
  return verifyText(text, { crypto, pins });
}

export function inWords(report: TextReport): ReportInWords {
  return describeReport(report);
}

Object.assign(globalThis, { palyraVerify: Object.assign(palyraVerify, { inWords }) });

/** Browsers have no `process`, and whoever imports this file in Node is the program, not this file. */
function isProgram(): boolean {
  const started = globalThis.process?.argv?.[1];
  if (started === undefined || globalThis.process.getBuiltinModule === undefined) return false;
  const { realpathSync } = process.getBuiltinModule('fs');
  const { pathToFileURL } = process.getBuiltinModule('url');
  return pathToFileURL(realpathSync(started)).href === import.meta.url;
}

/** As `palyra verify` has them. */
const SOUND = 0;
const UNUSABLE = 2;
const NOT_ESTABLISHED = 3;
const BROKEN = 7;
const NOT_FOUND = 8;

async function main(args: readonly string[]): Promise<number> {
  const command = parseVerifierCommand(args);
  if (command === undefined) {
    process.stderr.write(VERIFIER_USAGE);
    return UNUSABLE;
  }
  if (!process.getBuiltinModule('fs').existsSync(command.file)) {
    process.stderr.write('error: There is no such file.\n');
    return NOT_FOUND;
  }
  try {
    return show(await verifyFile(command), command);
  } catch (thrown) {
    process.stderr.write(`error: ${thrown instanceof AppError ? thrown.message : 'The file cannot be read.'}\n`);
    return UNUSABLE;
  }
}

async function verifyFile({ file, key, witnesses, checkpointFiles }: VerifierCommand): Promise<TextReport> {
  const { createReadStream, readFileSync } = process.getBuiltinModule('fs');
  const open = () => createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>;
  const checkpoints = checkpointFiles.map((path) => readFileSync(path, 'utf8'));
  return palyraVerify(open, { key, witnesses, checkpoints });
}

function show(found: TextReport, { json, requireWitness }: VerifierCommand): number {
  const { report } = found;
  const isUnwitnessed = report.kind === 'sound' && requireWitness && report.established.level !== 'witnessed';
  const { verdict, headline, facts, remarks } = describeReport(found);
  const lines = [
    isUnwitnessed ? `Not established: no pinned witness saw it. ${headline}` : headline,
    ...facts.map(([label, value]) => `  ${label.padEnd(16)} ${value}`),
    ...remarks.map((remark) => `  note: ${remark}`),
  ];
  process.stdout.write(json ? `${JSON.stringify(found)}\n` : `${lines.join('\n')}\n`);
  if (verdict !== 'sound') return BROKEN;
  return isUnwitnessed ? NOT_ESTABLISHED : SOUND;
}

if (isProgram()) process.exitCode = await main(process.argv.slice(2));
